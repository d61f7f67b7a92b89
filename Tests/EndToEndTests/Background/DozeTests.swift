import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests with real processes of apps that doze freezes, transfers that windows allow, and the state after a killed
/// service (L4, L6).
@Suite(.serialized, .timeLimit(.minutes(20))) struct DozeTests {
    /// Returns an app that works in the background, with a child that is always busy.
    private func worker(policy: String, _ change: (inout Orders) -> Void = { _ in }) async throws -> (
        app: AppFixture, child: LiveProcess
    ) {
        let app = try AppFixture()
        var task = BackgroundTaskOrder(.begin, "work", at: .background)
        task.handler = .keep
        try app.order { [task] in
            $0.backgroundTasks = [task]
            $0.rules = [Rule(.launched, .spin)]
            change(&$0)
        }
        try await app.install("X-Nightshift-BackgroundPolicy=\(policy)")
        try await app.launch()
        let child = LiveProcess(try #require(Int32(try await app.wait(for: .child).text ?? "")))
        try await app.wait(for: .active)
        try await app.perform("background")
        try await app.wait(for: .taskBegun)
        try await app.service.device(set: ["power": "battery", "idle": "yes"])
        return (app, child)
    }

    @Test
    func `L6: An opportunistic app and its clock pause in doze and continue in a window`()
        async throws
    {
        let (app, child) = try await worker(policy: "opportunistic")
        let process = LiveProcess(try #require(try await app.status().processID))
        #expect(process.isAlive && !process.isFrozen)
        #expect(try await app.service.doze(.dozing).doze.phase == .dozing)
        let stopped = try await app.wait(for: "standing still") { $0.background.standsStill }
        #expect(stopped.state == .background, "it is not suspended: it has work to do")
        try await eventually("processes that are frozen") { process.isFrozen && child.isFrozen }
        let ticks = (process.ticks, child.ticks)
        try await BusyProcess().run(ticks: 100)
        #expect(process.ticks == ticks.0 && child.ticks == ticks.1)
        let later = try await app.status()
        #expect(later.background.remaining == stopped.background.remaining, "its time stands still too")

        let window = try await app.service.doze(.window)
        #expect(window.doze.phase == .window && window.doze.windowReason == .requested)
        try await eventually("a child that runs") { try await !child.rests() }
        let running = try await app.status()
        #expect(running.background.standsStill == false)
        let left = try #require(running.background.remaining)
        #expect(left <= stopped.background.remaining ?? 0)
        #expect(running.background.stints.last?.windows == 1)
        try await app.service.doze(.dozing)
        try await app.wait(for: "standing still again") { $0.background.standsStill }
        // The user has returned to the device.
        try await app.service.device(set: ["idle": "no", "power": "external"])
        try await app.wait(for: "running") { !$0.background.standsStill }
        #expect(try await app.service.device().doze.phase == .awake)
    }

    @Test func `L4: A contiguous app keeps the device awake for as long as its task is open`() async throws {
        let scratch = try TemporaryDirectory()
        let (app, child) = try await worker(policy: "contiguous") {
            var end = BackgroundTaskOrder(.end, "work", at: .background)
            end.gate = scratch.path("gate")
            $0.backgroundTasks.append(end)
        }
        let device = try await app.service.device()
        #expect(device.holders.map(\.app.rawValue) == [app.app] && device.holders.first?.tasks == ["work"])
        await #expect(throws: Problem.self) { try await app.service.doze(.dozing) }
        let refused = try await app.service.cli(["device", "doze"])
        #expect(refused.exit == .code(1) && refused.errors.contains("keeps the device awake"), "\(refused)")
        try await eventually("a child that runs") { try await !child.rests() }
        try app.open(scratch.path("gate"))
        try await app.waitUntilSuspended()
        #expect(try await app.service.device().holders.isEmpty)
        #expect(try await app.status().background.stints.last?.heldAwake == true)
        let said = try await app.service.cli(["journal", "--since", "all"]).output
        #expect(said.contains(Decision.deviceHeldAwake.sentence) && said.contains(Decision.deviceReleased.sentence))
        try await app.service.doze(.dozing)
    }

    @Test func `L6: While the device is plugged in and in use, an app never dozes`() async throws {
        let service = try Service()
        try await service.start()
        let refused = try await service.cli(["device", "doze"])
        #expect(refused.exit == .code(1) && refused.errors.contains("The device is in use."), "\(refused)")
        #expect(try await service.device().doze.awakeReason == .inUse)
    }

    @Test func `L6: After kill -9 in doze every process thaws until the next service continues doze`() async throws {
        let (app, child) = try await worker(policy: "opportunistic")
        try await app.service.doze(.dozing)
        let before = try await app.wait(for: "standing still") { $0.background.standsStill }
        try await app.killService()
        try await eventually("a child that runs") { try await !child.rests() }
        try await app.waitForAnyService()
        #expect(try await app.service.device().doze.phase == .dozing)
        let after = try await app.wait(for: "standing still again") { $0.background.standsStill }
        #expect(after.processID == before.processID)
        #expect(after.background.tasks.map(\.name) == ["work"])
        let (left, was) = (try #require(after.background.remaining), try #require(before.background.remaining))
        // The app ran between the two services, and this time counted.
        #expect(left <= was && left > was - 60, "\(was) s, then \(left) s")
        try await eventually("a child that rests") { try await child.rests() }
    }

    @Test func `L5: After kill -9 during an expiration the next service ends the app without a new warning`()
        async throws
    {
        let (app, _) = try await worker(policy: "opportunistic:12")
        try await app.service.device(set: ["idle": "no"])
        try await app.wait(for: .taskExpired)
        try await app.killService()
        try await app.waitForAnyService()
        let status = try await app.wait(for: "its end") { $0.lastExit != nil }
        #expect(status.lastExit?.cause == .taskOverdue)
        #expect(app.seen(.taskExpired).count == 1)
    }

    @Test func `T3, L6: Only discretionary transfers wait in doze, and share a window with an app`()
        async throws
    {
        let (app, _) = try await worker(policy: "opportunistic")
        let content = Content.seeded(size: 100_000, seed: 4)
        app.origin.serve("/file", Resource(content: content))
        try await app.service.device(set: ["battery": "90"])
        try await app.service.doze(.dozing)
        try await app.wait(for: "standing still") { $0.background.standsStill }
        var later = TaskRequest.download(app.origin.url("/file"), to: app.service.scratch.path("later"))
        later.isDiscretionary = true
        let waiting = try await app.api.enqueue(later)
        try await app.service.wait(waiting, for: "doze") { $0.wait?.reason == .doze }
        let now = try await app.api.enqueue(.download(app.origin.url("/file"), to: app.service.scratch.path("now")))
        #expect(try await app.service.waitForEnd(now).state == .completed)
        #expect(try await app.api.task(waiting).state == .waiting)
        let why = try await app.service.cli(["why", "\(waiting)"]).output
        #expect(why.contains("dozing"), "\(why)")
        try await app.service.doze(.window)
        #expect(try await app.service.waitForEnd(waiting).state == .completed)
        #expect(try await app.status().background.stints.last?.windows == 1)
    }
}

extension Service {
    /// Overrides values that the device reports.
    @discardableResult
    func device(set values: [String: String]) async throws -> DeviceStatus {
        var overrides: [DeviceKey: String?] = [:]
        for (key, value) in values { if let key = DeviceKey(rawValue: key) { overrides[key] = .some(value) } }
        return try JSON.decode(
            DeviceStatus.self,
            from: try await api.send("PATCH", "/v1/device", try JSON.encode(DeviceChange(overrides: overrides))))
    }

    func device() async throws -> DeviceStatus { try await api.get("/v1/device") }

    @discardableResult
    func doze(_ phase: DozePhase) async throws -> DeviceStatus {
        try await api.post("/v1/device/doze", DozeRequest(phase: phase))
    }
}

extension AppFixture {
    /// Suspends until a service responds, and starts one if the app's library does not.
    func waitForAnyService() async throws {
        if (try? await api.status()) == nil { try service.spawn() }
        try await waitForService()
    }
}
