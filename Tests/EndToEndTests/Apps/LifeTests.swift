import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of apps that break the rules, and of users who end them (T11, T13, L1, L7).
@Suite(.serialized, .timeLimit(.minutes(20))) struct LifeTests {
    private let content = Content.seeded(size: 2 << 20, seed: 31)

    private func probe(
        wakeLimit: Double = 30, _ behaviours: [Behaviour] = [], _ change: (inout Orders) -> Void = { _ in }
    ) async throws -> AppFixture {
        let app = try AppFixture()
        app.origin.serve("/film", Resource(content: content, behaviours: behaviours))
        try app.order {
            $0.transfers = [TransferOrder(app.origin.url("/film"), "film")]
            change(&$0)
        }
        try await app.install(wakeLimit: wakeLimit)
        try await app.launch()
        return app
    }

    @Test func `T11: The service ends an app that never calls the completion handler, and records why`() async throws {
        let gate = Gate()
        let app = try await probe(wakeLimit: 4, [.holdHead(gate)]) {
            $0.rules = [Rule(.begun, .crash)]
            $0.completes = false
        }
        try await app.wait(for: "the crash") { $0.lastExit != nil }
        gate.open()
        let process = try await app.wait(for: .finishedEvents).process
        let status = try await app.wait(for: "its end") { $0.lastExit?.cause == .eventsOverdue }
        #expect(status.state == .notRunning)
        #expect(status.faults == 1)
        let said = try await app.service.cli(["app", "show", app.app]).output
        #expect(said.contains("did not complete its session events in time"), "\(said)")
        let why = try await app.service.cli(["app", "why", app.app]).output
        #expect(why.contains("0x2182bad3"), "\(why)")
        // Only that process counts, because the app is launched again a second later.
        #expect(app.backgroundStory(of: process) == AppFixture.delivery)
        #expect(try content.firstMismatch(inFileAt: app.file("film")) == nil)
    }

    @Test func `T11: An app that crashes on every wake is delayed, and finally gets its events`()
        async throws
    {
        let gate = Gate()
        let app = try await probe([.holdHead(gate)]) {
            $0.rules = [Rule(.begun, .crash), Rule(.launchedInBackground, .crash, times: nil)]
        }
        try await app.wait(for: "the crash") { $0.lastExit != nil }
        gate.open()
        let status = try await app.wait(for: "two faults") { $0.faults >= 2 && $0.launchesPausedUntil != nil }
        #expect(status.lastExit?.cause == .failed && status.lastExit?.status == 9)
        // The first pauses are short. On a busy machine, one of the later ones is seen.
        try await eventually("the reason of the delay") {
            try await app.service.cli(["app", "why", app.app]).output.contains("times in a row")
        }
        try await app.wait(for: .launched, count: 4)
        let launches = app.seen(.launched).map(\.awakeSeconds)
        #expect(launches[2] - launches[1] >= 0.9 && launches[3] - launches[2] >= 1.9, "pauses of 1 s and 2 s")
        try app.order { $0.rules = [] }
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        #expect(try await app.status().faults == 0)
        #expect(app.backgroundStory() == AppFixture.delivery)
        #expect(try content.firstMismatch(inFileAt: app.file("film")) == nil)
    }

    @Test func `L1: An app sent to the background during its launch is suspended`() async throws {
        let app = try AppFixture()
        var rule = Rule(.launched, .hold)
        rule.gate = app.gate("gate")
        try app.order { [rule] in $0.rules = [rule] }
        try await app.install()
        try await app.launch()
        try await app.wait(for: .launched)
        try await app.wait(for: "its connection") { $0.isConnected }
        try await app.perform("background")
        try app.open(app.gate("gate"))
        try await app.waitUntilSuspended()
        #expect(app.seen().last { [.active, .background].contains($0.event) }?.event == .background)
    }

    @Test func `L1: The service freezes, resumes and kills a child that an app has forked with the app`() async throws {
        let gate = Gate()
        let app = try await probe([.holdHead(gate)]) { $0.rules = [Rule(.launched, .spin)] }
        let child = LiveProcess(try #require(Int32(try await app.wait(for: .child).text ?? "")))
        try await app.wait(for: .active)
        try await app.perform("background")
        try await app.waitUntilSuspended()
        try await eventually("a child that rests") { try await child.rests() }
        try await app.perform("activate")
        try await eventually("a child that runs") { try await !child.rests() }
        try await app.perform("background")
        try await app.waitUntilSuspended()
        try await app.perform("kill")
        try await eventually("the child's end") { !child.isAlive }
        gate.open()
    }

    @Test func `T13: A force quit cancels tasks with reason 0 and resume data, and prevents relaunches`()
        async throws
    {
        let gate = Gate()
        let app = try await probe([.holdFrom(1 << 20, gate)]) {
            $0.rules = [Rule(.completed, .retry)]
        }
        try await app.wait(for: .progress)
        try await app.quit(force: true)
        gate.open()
        let status = try await app.status()
        #expect(status.isForceQuit && status.state == .notRunning && status.lastExit?.cause == .forceQuit)
        #expect(try await app.why().sentence.contains("force-quit"))
        // The messages exist, and a starting service searches for apps to wake.
        try await app.killService()
        try await app.service.start()
        #expect(try await app.status().isForceQuit)
        #expect(app.seen(.launched).count == 1)
        #expect(app.seen(.completed).isEmpty)

        try app.order { $0.transfers = [] }
        try await app.launch()
        let end = try await app.wait(for: .completed)
        #expect(end.domain == NSURLErrorDomain && end.code == NSURLErrorCancelled)
        #expect(end.reason == 0)
        #expect(end.hasResumeData == true)
        #expect(app.seen(.launched).map(\.text) == ["foreground", "foreground"])
        try await app.wait(for: .completed, task: "film again")
        let resumed = try #require(app.seen(.resumed).first?.bytes)
        #expect(resumed > 0 && resumed <= 1 << 20)
        #expect(app.origin.requests(for: "/film").last?.field("Range") == "bytes=\(resumed)-")
        #expect(try content.firstMismatch(inFileAt: app.file("film again")) == nil)
        #expect(try await !app.status().isForceQuit)
    }

    @Test func `T13: An app is notified of an ordinary quit, and its transfers continue`() async throws {
        let gate = Gate()
        let app = try await probe([.holdFrom(1 << 20, gate)])
        try await app.wait(for: .progress)
        try await app.quit()
        #expect(app.story().last == .terminating)
        #expect(try await app.status().lastExit?.cause == .quit)
        gate.open()
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        #expect(app.backgroundStory() == AppFixture.delivery)
        #expect(try content.firstMismatch(inFileAt: app.file("film")) == nil)
    }

    @Test func `T12: A woken app's new task waits for the relaunch delay until the user opens the app`() async throws {
        let gate = Gate()
        let app = try await probe([.holdHead(gate)]) { orders in
            orders.rules = [Rule(.begun, .crash)]
            var more = orders.transfers[0]
            more.description = "more"
            more.point = .finishedEvents
            orders.transfers.append(more)
        }
        try await app.wait(for: "the crash") { $0.lastExit != nil }
        gate.open()
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        let waiting = try await app.api.tasks().first { $0.description == "more" }
        #expect(waiting?.state == .waiting && waiting?.wait?.reason == .relaunchDelay)
        #expect(try await app.status().startsPausedUntil != nil)
        try await app.perform("activate")
        try await app.wait(for: .completed, task: "more", within: .seconds(10))
        #expect(try content.firstMismatch(inFileAt: app.file("more")) == nil)
    }
}
