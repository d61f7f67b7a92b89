import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of the events that a relaunched app receives, and of its state afterwards (T9, T11, section 3 of
/// `background-urlsession.md`).
@Suite(.serialized, .timeLimit(.minutes(20))) struct RelaunchTests {
    private let content = Content.seeded(size: 2 << 20, seed: 11)

    /// Returns an app that has started one download, which stops at 1 MiB.
    private func begun(_ gate: Gate) async throws -> AppFixture {
        let app = try AppFixture()
        app.origin.serve("/film", Resource(content: content, behaviours: [.holdFrom(1 << 20, gate)]))
        try app.order { $0.transfers = [TransferOrder(app.origin.url("/film"), "film")] }
        try await app.install()
        try await app.launch()
        try await app.wait(for: .progress)
        return app
    }

    private func expectWhole(_ app: AppFixture, _ name: String = "film") throws {
        #expect(try content.firstMismatch(inFileAt: app.file(name)) == nil)
        #expect(app.seen(.moved, task: name).count == 1)
        #expect(app.seen(.movedAgain, task: name).isEmpty)
        #expect(app.seen(.completed, task: name).count == 1)
    }

    @Test func `T9: The end of a transfer relaunches its app, killed meanwhile, in the background`()
        async throws
    {
        let gate = Gate()
        let app = try await begun(gate)
        try await app.killApp()
        gate.open()
        try await app.waitUntilSuspended()
        #expect(app.backgroundStory() == AppFixture.delivery)
        #expect(app.seen(.launched).map(\.text) == ["foreground", "background"])
        #expect(app.seen(.handleEvents).map(\.session) == ["main"])
        #expect(app.seen(.completed).allSatisfy { $0.code == nil && $0.status == 200 })
        #expect(app.seen(.handleEvents).allSatisfy { $0.isOnMainThread })
        try expectWhole(app)
        let snapshot = try await app.api.send("GET", "/v1/apps/\(app.app)/snapshot")
        #expect(snapshot.starts(with: [0x89, 0x50, 0x4e, 0x47]))
        let status = try await app.status()
        #expect(status.snapshotTakenAt != nil && status.wakes.isEmpty && status.faults == 0)
    }

    @Test func `T9: The service resumes a suspended app instead of launching it`() async throws {
        let gate = Gate()
        let app = try await begun(gate)
        try await app.perform("background")
        try await app.waitUntilSuspended()
        let process = try #require(app.seen(.launched).first?.process)
        try await eventually("frozen") { LiveProcess(process).isFrozen }
        gate.open()
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        let before: [Sighting.Event] = [.launched, .made, .begun, .active, .resigned, .background]
        #expect(app.backgroundStory() == before + AppFixture.delivery.dropFirst())
        #expect(app.seen(.launched).count == 1)
        // The app made one snapshot when the user left it, and one after the events.
        #expect(app.seen(.snapshot).count == 2)
        try await eventually("frozen again") { LiveProcess(process).isFrozen }
        try expectWhole(app)
    }

    @Test func `T1: An app in the foreground gets the end of a transfer directly, without handleEvents`() async throws {
        let gate = Gate()
        let app = try await begun(gate)
        gate.open()
        try await app.wait(for: .completed)
        #expect(app.story() == [.launched, .made, .begun, .active, .finishing, .moved, .completed])
        let progress = app.seen(.progress).compactMap(\.bytes)
        #expect(progress == progress.sorted() && progress.last == 2 << 20)
        #expect(app.seen(.progress).allSatisfy { $0.expected == 2 << 20 })
        try expectWhole(app)
    }

    @Test func `T9: The service does not send handleEvents to an app that leaves with no events pending`() async throws
    {
        let gate = Gate()
        let app = try await begun(gate)
        gate.open()
        try await app.wait(for: .completed)
        try await app.waitForAcknowledgement()
        try await app.perform("background")
        try await app.waitUntilSuspended()
        #expect(
            app.story() == [
                .launched, .made, .begun, .active, .finishing, .moved, .completed, .resigned, .background,
            ])
        #expect(try await app.status().startsPausedUntil == nil, "nor is that counted as a wake")
    }

    @Test func `T9: An app that calls exit(0) right after resume() loses no transfer`() async throws {
        let (app, gate) = (try AppFixture(), Gate())
        app.origin.serve("/film", Resource(content: content, behaviours: [.holdHead(gate)]))
        try app.order {
            $0.transfers = [TransferOrder(app.origin.url("/film"), "film")]
            $0.rules = [Rule(.begun, .exit)]
        }
        try await app.install()
        try await app.launchUntilItDies()
        #expect(try await app.status().lastExit?.cause == .exited)
        gate.open()
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        #expect(app.backgroundStory() == AppFixture.delivery)
        #expect(app.story(of: app.seen(.launched).first?.process) == [.launched, .made, .begun])
        try expectWhole(app)
    }

    @Test func `T9: An app that crashes right after resume(), before any response, loses no transfer`()
        async throws
    {
        let (app, gate) = (try AppFixture(), Gate())
        app.origin.serve("/film", Resource(content: content, behaviours: [.holdHead(gate)]))
        try app.order {
            $0.transfers = [TransferOrder(app.origin.url("/film"), "film")]
            $0.rules = [Rule(.begun, .crash)]
        }
        try await app.install()
        try await app.launchUntilItDies()
        #expect(try await app.status().lastExit?.status == 9)
        #expect(try await app.status().state == .notRunning, "there is nothing to wake it for yet")
        gate.open()
        try await app.waitUntilSuspended()
        #expect(app.backgroundStory() == AppFixture.delivery)
        try expectWhole(app)
    }

    @Test func `T9: An app that creates its session only in handleEvents gets all of the session's events`()
        async throws
    {
        let (app, gate) = (try AppFixture(), Gate())
        app.origin.serve("/film", Resource(content: content, behaviours: [.holdHead(gate)]))
        try app.order {
            $0.transfers = [TransferOrder(app.origin.url("/film"), "film")]
            $0.rules = [Rule(.begun, .crash)]
            $0.sessions[0].isMadeAtLaunch = false
        }
        try await app.install()
        try await app.launchUntilItDies()
        gate.open()
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        #expect(app.backgroundStory() == AppFixture.delivery)
        try expectWhole(app)
    }

    @Test func `T9: Several sessions share one background launch, each with its own completion`()
        async throws
    {
        let app = try AppFixture()
        let names = ["one", "two", "three"]
        let gate = Gate()
        for (index, name) in names.enumerated() {
            app.origin.serve(
                "/\(name)",
                Resource(content: .seeded(size: 300_000, seed: UInt64(index)), behaviours: [.holdHead(gate)]))
        }
        try app.order { orders in
            // The app creates each session when it handles its events. Otherwise the first wake would deliver the
            // events of all sessions.
            orders.sessions = names.map { SessionOrder($0) }
            for index in names.indices { orders.sessions[index].isMadeAtLaunch = false }
            orders.transfers = names.map { TransferOrder(app.origin.url("/\($0)"), "file", in: $0) }
            orders.rules = [Rule(.begun, .crash)]
            // The app stays awake until all events have arrived, in any order.
            var rule = Rule(.finishedEvents, .hold)
            rule.gate = app.gate("gate")
            orders.rules.append(rule)
        }
        try await app.install()
        try await app.launchUntilItDies()
        gate.open()
        try await app.wait(for: .completed)
        try await eventually("the last of them") { try await app.api.tasks().allSatisfy { $0.state == .completed } }
        try app.open(app.gate("gate"))
        try await app.wait(for: .finishedEvents, count: 3)
        try await app.waitUntilSuspended()
        #expect(Set(app.seen(.handleEvents).compactMap(\.session)) == Set(names))
        #expect(app.seen(.handleEvents).count == 3)
        #expect(app.seen(.launched).count == 2)
        for (index, name) in names.enumerated() {
            let own = app.seen().filter { $0.session == name && $0.event != .progress && $0.event != .known }
            #expect(own.map(\.event).filter { $0 != .handleEvents } == [.made] + AppFixture.delivery.dropFirst())
            let content = Content.seeded(size: 300_000, seed: UInt64(index))
            #expect(try content.firstMismatch(inFileAt: app.file("file", session: name)) == nil)
        }
    }

    @Test func `T9: An app killed after it has received all events is not launched again`() async throws {
        let app = try AppFixture()
        app.origin.serve("/film", Resource(content: content))
        try app.order { $0.transfers = [TransferOrder(app.origin.url("/film"), "film")] }
        try await app.install()
        try await app.launch()
        try await app.wait(for: .completed)
        try await app.waitForAcknowledgement()
        try await app.killApp()
        try await app.wait(for: "the end") { $0.lastExit != nil }
        #expect(try await app.status().state == .notRunning)
        try await app.killService()
        try await app.service.start()
        let status = try await app.status()
        #expect(status.state == .notRunning && status.wakes.isEmpty)
        #expect(app.seen(.launched).count == 1)
        try expectWhole(app)
    }
}
