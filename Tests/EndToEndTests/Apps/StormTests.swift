import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests that no app stays frozen and no event is lost (L7, T2).
@Suite(.serialized, .timeLimit(.minutes(20))) struct StormTests {
    /// The content is too small for several connections.
    private let content = Content.seeded(size: 3 << 20, seed: 61)

    /// Starts a download in the app, all of whose attempts the gate blocks. Each attempt delivers a few bytes and is
    /// abandoned after a minute without a byte. All attempts together would take 45 minutes.
    private func begun(_ gate: Gate) async throws -> AppFixture {
        let app = try AppFixture()
        app.origin.serve("/film", Resource(content: content, behaviours: [.holdAfter(64 << 10, gate)]))
        try app.order { $0.transfers = [TransferOrder(app.origin.url("/film"), "film")] }
        try await app.install()
        try await app.launch()
        try await app.wait(for: .progress)
        return app
    }

    @Test func `L7: After 200 switches to the background and back, the app is in the requested state`() async throws {
        let gate = Gate()
        let app = try await begun(gate)
        for round in 0..<200 {
            try await app.perform("background")
            // In some rounds the app has time to be frozen.
            if round % 20 == 0 { try await app.waitUntilSuspended() }
            try await app.perform("activate")
        }
        try await app.wait(for: .active, count: 1)
        try await eventually("the last of its states") {
            app.seen().last { [.active, .background].contains($0.event) }?.event == .active
        }
        let process = try #require(app.seen(.launched).last?.process)
        #expect(app.seen(.launched).count == 1)
        #expect(try await app.status().state == .active)
        #expect(!LiveProcess(process).isFrozen)
        try await app.perform("background")
        try await app.waitUntilSuspended()
        try await eventually("frozen") { LiveProcess(process).isFrozen }
        gate.open()
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        #expect(app.seen(.completed).count == 1)
        #expect(try content.firstMismatch(inFileAt: app.file("film")) == nil)
        let order = app.seen().map(\.event).filter { [.active, .resigned, .background, .foreground].contains($0) }
        let next: [Sighting.Event: Sighting.Event] = [
            .active: .resigned, .resigned: .background, .background: .foreground, .foreground: .active,
        ]
        #expect(zip(order, order.dropFirst()).allSatisfy { next[$0] == $1 || $0 == .resigned && $1 == .active })
    }

    @Test func `T2: An app thaws when its service is killed, and is adopted by the next service`()
        async throws
    {
        let gate = Gate()
        let app = try await begun(gate)
        try await app.perform("background")
        try await app.waitUntilSuspended()
        let process = LiveProcess(try #require(app.seen(.launched).last?.process))
        try await eventually("frozen") { process.isFrozen }
        let old = try await app.api.status().processID
        try await app.killService()
        // Because only the app's library starts the next service, the app must run, though perhaps only briefly.
        try await app.waitForService(besides: old)
        try await app.waitUntilSuspended()
        try await eventually("frozen again") { process.isFrozen }
        #expect(try await app.status().processID == process.pid)
        gate.open()
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        #expect(app.seen(.launched).count == 1)
        #expect(app.seen(.handleEvents).count == 1)
        #expect(app.seen(.completed).map(\.code) == [nil])
        #expect(try content.firstMismatch(inFileAt: app.file("film")) == nil)
    }

    @Test func `T2: A stopping service resumes all apps, which the next service suspends again`()
        async throws
    {
        let gate = Gate()
        let app = try await begun(gate)
        try await app.perform("background")
        try await app.waitUntilSuspended()
        let process = LiveProcess(try #require(app.seen(.launched).last?.process))
        #expect(try await app.service.stop() == .code(0))
        try await eventually("thawed") { !process.isFrozen }
        // The app waits for a service and does not start one, because its own service would conflict with this one.
        try await app.service.start()
        try await app.waitUntilSuspended()
        try await app.perform("kill")
        gate.open()
        try await app.wait(for: .finishedEvents)
        #expect(app.backgroundStory() == AppFixture.delivery)
    }
}
