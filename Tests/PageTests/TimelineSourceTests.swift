import Foundation
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

@testable import Page

/// B5: Tests of the timelines of the page, which the page's program computes from its copy of the journal.
@Suite struct TimelineSourceTests {
    @Test("B5: a timeline from a kept copy of the journal equals a timeline from the whole journal")
    func keptCopy() async throws {
        let fixture = try await PageFixture()
        let app = try await fixture.install("org.example.Photos", name: "Photos")
        let kept = TimelineSource(client: fixture.client)
        let hour = TimelineQuery(seconds: 3_600)
        #expect(try await kept.timeline(hour, now: Date()).transfers == [])
        fixture.origin.serve("/a.txt", .text("a"))
        let id = try await fixture.enqueue(["/a.txt"])[0]
        try await fixture.wait(for: id, "its end") { $0.state == .completed }
        _ = try await fixture.client.send(.launch(app, LaunchRequest()))
        // A shorter timeline needs a part of the copy, and a longer one needs earlier entries.
        let queries = [hour, TimelineQuery(seconds: 600), TimelineQuery(seconds: 7_200)]
        for query in queries {
            let timeline = try await compare(kept, query, fixture.client)
            #expect(timeline.transfers.map(\.task) == [id])
            #expect(timeline.apps.map(\.id) == [app])
        }
        let ofApp = try await compare(kept, TimelineQuery(seconds: 600, app: app), fixture.client)
        #expect(ofApp.transfers == [] && ofApp.apps.map(\.id) == [app])
        // The service deletes earlier entries about the use of the device.
        _ = try await fixture.client.send(.forgetLearned)
        _ = try await compare(kept, TimelineQuery(seconds: 7_200), fixture.client)
    }

    /// Returns the timeline of the whole journal after it has equalled the timeline of the source. An entry may be
    /// written between the two reads.
    private func compare(
        _ kept: TimelineSource, _ query: TimelineQuery, _ client: ServiceClient
    ) async throws -> Timeline {
        var whole: Timeline?
        try await eventually("equal timelines") {
            let now = Date()
            whole = try await TimelineSource(client: client).timeline(query, now: now)
            return try await kept.timeline(query, now: now) == whole
        }
        return try #require(whole)
    }
}
