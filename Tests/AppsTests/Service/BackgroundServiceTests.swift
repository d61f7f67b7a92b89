import Apps
import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing

/// Tests of background time in the service: clock files, settings, connections, reports (decision 0013).
@Suite(.timeLimit(.minutes(20))) struct BackgroundServiceTests {
    /// Launches an app of the scene and waits until it has connected and entered its first state.
    private func launch(_ scene: ServiceScene) async throws -> (Int32, CommandReader) {
        let status = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        let process = try #require(status.processID)
        let reader = CommandReader(
            try await scene.service.connect(process: process, executable: nil, app: ServiceScene.app))
        try await acknowledge(scene, process, reader.command(.enter, .active))
        return (process, reader)
    }

    private func acknowledge(_ scene: ServiceScene, _ process: Int32, _ command: ProcessCommand) async throws {
        try await scene.service.acknowledge(process: process, command: command.number)
    }

    /// Makes the user leave the app, and the app's delegate return.
    private func leave(_ scene: ServiceScene, _ process: Int32, _ reader: CommandReader) async throws {
        _ = try await scene.service.background(ServiceScene.app)
        try await acknowledge(scene, process, reader.command(.enter, .inactive))
        try await acknowledge(scene, process, reader.command(.enter, .background))
    }

    private func begin(_ scene: ServiceScene, _ process: Int32, _ number: Int64, _ name: String = "sync") async throws {
        try await scene.service.beginBackgroundTask(
            process: process, BackgroundTaskRequest(number: number, name: name))
    }

    @Test func `L2 L3: The clock file, the warning and the end agree with the clock`() async throws {
        let scene = try await ServiceScene()
        let (process, reader) = try await launch(scene)
        let clock = try #require(reader.hello?.clock)
        #expect(try scene.shownTime(clock) == .unlimited)
        let rights = try FileManager.default.attributesOfItem(atPath: clock)[.posixPermissions] as? Int
        #expect(rights == 0o600)
        try await begin(scene, process, 1)
        try await leave(scene, process, reader)
        #expect(try scene.shownTime(clock) == .counting(until: 1_180_000_000_000))
        let record = try await scene.store.read { try $0.app(ServiceScene.app) }
        #expect(record?.isInBackground == true)

        // The machine sleeps, so the alarm rings too early in awake seconds and is set again. It is set only for the
        // warning, at 180 s less the warning time.
        #expect(scene.clock.nextWaking == 5_175)
        scene.clock.advance(to: 5_030)
        scene.clock.sleepMachine(for: 10_000)
        try await eventually("the alarm") { scene.clock.nextWaking == 15_175 }
        #expect(try scene.shownTime(clock) == .counting(until: 1_180_000_000_000))
        #expect(try await scene.status().background.remaining == 150)

        scene.clock.advance(to: 15_174.9)
        #expect(!reader.commands.contains { $0.action == .expire })
        scene.clock.advance(to: 15_175)
        _ = try await reader.command(.expire)
        try await eventually("the end's alarm") { scene.clock.nextWaking == 15_180 }
        scene.clock.advance(to: 15_180)
        try await eventually("the end") { try await scene.status().state == .notRunning }
        let status = try await scene.status()
        #expect(status.lastExit?.cause == .taskOverdue)
        #expect(status.background.stints.last?.seconds == 180)
        #expect(status.background.stints.last?.end == .terminated)
        #expect(!FileManager.default.fileExists(atPath: clock))
        let history = try await scene.history()
        let ended = try #require(history.last { $0.decision == .stintEnded })
        #expect(ended.inputs?["seconds"] == "180" && ended.inputs?["tasks"] == "sync")
        #expect(history.map(\.decision).contains(.backgroundTimeExpiring))
        try await scene.end()
    }

    @Test func `L4: A process and its time pause in doze and continue in a maintenance window`() async throws {
        let scene = try await ServiceScene()
        let (process, reader) = try await launch(scene)
        try await begin(scene, process, 1)
        try await leave(scene, process, reader)
        scene.clock.advance(to: 5_010)
        await scene.service.apply(DeviceState(phase: .dozing))
        #expect(scene.scripted?.isSuspended(process) == true)
        #expect(try scene.shownTime(reader.hello?.clock) == .standing(170_000_000_000))
        #expect(try await scene.status().background.standsStill)
        #expect(scene.activities.read { $0.last?.working } == 1)
        let sentence = try await scene.service.explain(ServiceScene.app).sentence
        #expect(sentence.contains("The device dozes") && sentence.contains("sync"))
        #expect(scene.clock.nextWaking == nil, "idle means idle")
        scene.clock.advance(to: 6_000)
        await scene.service.apply(DeviceState(phase: .window))
        #expect(scene.scripted?.isSuspended(process) == false)
        #expect(try scene.shownTime(reader.hello?.clock) == .counting(until: 2_170_000_000_000))
        try await scene.service.endBackgroundTask(process: process, number: 1)
        try await acknowledge(scene, process, reader.command(.snapshot))
        #expect(try await scene.status().state == .suspended)
        #expect(scene.activities.read { $0.last } == AppActivity())
        try await scene.end()
    }

    @Test func `L4: A service that restarts in doze knows the remaining time`() async throws {
        let first = try await ServiceScene()
        let (process, reader) = try await launch(first)
        try await begin(first, process, 1)
        try await leave(first, process, reader)
        first.clock.advance(to: 5_010)
        await first.service.apply(DeviceState(phase: .dozing))
        first.clock.advance(to: 5_100)
        try await first.crash()

        let second = try await ServiceScene(moment: DeviceState(phase: .dozing), after: first)
        #expect(try await second.status().background.remaining == 170)
        let again = CommandReader(
            try await second.service.connect(process: process, executable: nil, app: ServiceScene.app))
        try await begin(second, process, 1)
        second.clock.advance(to: 5_105)
        try await eventually("it to stand still") { try await second.status().background.standsStill }
        #expect(second.scripted?.isSuspended(process) == true)
        #expect(try second.shownTime(again.hello?.clock) == .standing(165_000_000_000))
        try await second.end()
    }

    @Test func `L1: A service executes the actions decided at adoption before any request for the app`() async throws {
        let app = ServiceScene.app
        let first = try await ServiceScene()
        _ = try await first.service.launch(app, LaunchRequest())
        let process = try #require(first.scripted?.living.first)
        // The app does not link the library.
        first.clock.advance(to: 5_000 + AppMachine.connectLimit + 1)
        _ = try await first.service.background(app)
        try await eventually("it to be suspended") { first.scripted?.isSuspended(process) == true }
        try await first.crash()

        let next = try await ServiceScene(after: first) { _ = try await $0.activate(app) }
        try await eventually("it to be taken up") {
            try await next.history().contains { $0.decision == .appAdopted }
        }
        #expect(try await next.status().state == .active)
        #expect(next.scripted?.isSuspended(process) == false)
        let states = try await next.history().filter { $0.decision == .appEntered }.map(\.detail)
        #expect(states.suffix(3) == ["suspended", "inactive", "active"], "\(states)")
        try await next.end()
    }

    @Test func `L2: The user's policy overrides the entry's policy, which overrides the device's`() async throws {
        let scene = try await ServiceScene(keys: "X-Nightshift-BackgroundPolicy=opportunistic:30")
        var status = try await scene.status().background
        #expect(status.policy == .brief && status.policySource == .manifest)
        let word = AppChange(backgroundPolicy: "contiguous:60")
        status = try await scene.service.change(ServiceScene.app, word).background
        #expect(status.policy == BackgroundPolicy(.contiguous, seconds: 60) && status.policySource == .app)
        let kept = try await scene.store.read { try $0.apps().records }
        #expect(kept.first?.background.policy == BackgroundPolicy(.contiguous, seconds: 60))
        status = try await scene.service.change(ServiceScene.app, AppChange(backgroundPolicy: "default")).background
        #expect(status.policySource == .manifest)
        await #expect(throws: Problem.self) {
            try await scene.service.change(ServiceScene.app, AppChange(backgroundPolicy: "for ever"))
        }
        try await scene.end()

        let plain = try await ServiceScene()
        var settings = DeviceSettings()
        settings.backgroundPolicy = .contiguous
        await plain.service.apply(settings)
        status = try await plain.status().background
        #expect(status.policy == .contiguous && status.policySource == .device)
        try await plain.end()
    }

    @Test func `L2: The service reports that an app holds the device awake only as long as the app does`() async throws
    {
        let scene = try await ServiceScene(keys: "X-Nightshift-BackgroundPolicy=contiguous")
        let (process, reader) = try await launch(scene)
        try await scene.fronts.wait(for: "the event") { $0 == [ServiceScene.app] }
        try await begin(scene, process, 1, "upload")
        #expect(scene.activities.read { $0.last?.holders ?? [] } == [])
        try await leave(scene, process, reader)
        let holders = scene.activities.read { $0.last?.holders ?? [] }
        #expect(holders.map(\.app) == [ServiceScene.app] && holders.map(\.tasks) == [["upload"]])
        try await scene.service.endBackgroundTask(process: process, number: 1)
        #expect(scene.activities.read { $0.last?.holders ?? [] } == [])
        try await scene.end()
    }

    @Test func `L2: A refused request names the reason and has no effect`() async throws {
        let scene = try await ServiceScene()
        let (process, reader) = try await launch(scene)
        let long = String(repeating: "x", count: Limits.backgroundTaskNameLength + 1)
        let invalid = await #expect(throws: Problem.self) { try await begin(scene, process, 1, long) }
        #expect(invalid?.status == 422)
        let stranger = await #expect(throws: Problem.self) { try await begin(scene, getpid(), 1) }
        #expect(stranger?.type == "/problems/not-connected")
        try await begin(scene, process, 1)
        try await begin(scene, process, 1)
        #expect(try await scene.status().background.tasks.count == 1)
        try await leave(scene, process, reader)
        scene.clock.advance(to: 5_176)
        let late = await #expect(throws: Problem.self) { try await begin(scene, process, 2) }
        #expect(late?.type == "/problems/no-background-time")
        #expect(try await scene.history().contains { $0.decision == .backgroundTaskRefused })
        try await scene.service.endBackgroundTask(process: process, number: 99)
        try await scene.end()
    }

    @Test(arguments: [FileLockPolicy.warn, .terminate])
    func `L5: The service records an app's file lock before it suspends or ends the app`(
        policy: FileLockPolicy
    ) async throws {
        let scene = try await ServiceScene(keys: "X-Nightshift-FileLocks=\(policy.rawValue)")
        let (process, reader) = try await launch(scene)
        scene.scripted?.setLocks(process, [HeldLock(path: "/shared", process: process, kind: "flock")])
        try await leave(scene, process, reader)
        try await acknowledge(scene, process, reader.command(.snapshot))
        let note = try #require(try await scene.history().last { $0.decision == .appHoldsLock })
        #expect(note.detail == "/shared" && note.inputs?["kind"] == "flock")
        switch policy {
        case .warn: #expect(scene.scripted?.isSuspended(process) == true)
        case .terminate:
            try await eventually("its end") { try await scene.status().lastExit?.cause == .fileLock }
            #expect(scene.scripted?.deeds.contains(.suspended(process)) == false)
        }
        try await scene.end()
    }

    @Test func `L2: Tasks of a secondary process belong to the app and end with that process`() async throws {
        let scene = try await ServiceScene()
        let (process, reader) = try await launch(scene)
        let other = try #require(scene.scripted).startByUser().pid
        let guest = try await scene.service.connect(
            process: other, executable: nil, app: ServiceScene.app, asGuest: true)
        let told = CommandReader(guest)
        try await told.events.wait(for: "hello") { !$0.isEmpty }
        #expect(told.hello?.isManaged == false)
        try await begin(scene, other, 1, "guest's")
        try await begin(scene, process, 1, "its own")
        #expect(try await scene.status().background.tasks.map(\.name) == ["guest's", "its own"])
        try await leave(scene, process, reader)
        try await scene.service.endBackgroundTask(process: process, number: 1)
        #expect(try await scene.status().background.tasks.map(\.name) == ["guest's"])
        scene.clock.advance(to: 5_175)
        _ = try await told.command(.expire)
        #expect(!reader.commands.contains { $0.action == .expire })
        try await scene.end()
    }

    @Test func `L2: The service reads records of its earlier versions`() throws {
        let record = AppRecord(id: ServiceScene.app, now: 1)
        var fields = try #require(
            JSONSerialization.jsonObject(with: JSONEncoder().encode(record)) as? [String: Any])
        #expect(fields.removeValue(forKey: "background") != nil)
        let old = try JSONSerialization.data(withJSONObject: fields)
        #expect(try JSONDecoder().decode(AppRecord.self, from: old) == record)
    }

    @Test func `L2: The first of two processes of an app in one session is the app's main process`() async throws {
        let scene = try await ServiceScene(command: "/bin/sh -c \"sleep 600 & wait\"", isReal: true)
        let (process, reader) = try await launch(scene)
        try await begin(scene, process, 1)
        var inner: pid_t = 0
        try await eventually("what it starts") {
            inner = Proc.members(ofSession: process).subtracting([process]).first ?? 0
            return inner != 0
        }
        let stream = try await scene.service.connect(process: inner, executable: nil, app: nil)
        let reading = Task { for await _ in stream {} }
        try await begin(scene, inner, 1, "inner")
        #expect(try await scene.status().background.tasks.map(\.name) == ["sync", "inner"])
        reading.cancel()
        try await eventually("its leaving") { try await scene.status().background.tasks.map(\.name) == ["sync"] }
        #expect(try await scene.status().isConnected, "the first one still reads")
        #expect(!reader.hasEnded.read { $0 })
        _ = try await scene.service.kill(ServiceScene.app)
        try await scene.end()
    }

    @Test func `L1: An app that cannot be suspended stays in the background until a later try succeeds`()
        async throws
    {
        let scene = try await ServiceScene()
        let (process, reader) = try await launch(scene)
        let host = try #require(scene.scripted)
        host.setRefusesSuspension(true)
        try await leave(scene, process, reader)
        try await acknowledge(scene, process, reader.command(.snapshot))
        try await eventually("an attempt") {
            try await scene.history().contains { $0.decision == .appEntered && $0.detail == "suspended" }
        }
        #expect(try await scene.status().state == .background && !host.isSuspended(process))
        try await scene.pass(11, until: "a second attempt") {
            try await scene.history().count { $0.decision == .appEntered && $0.detail == "suspended" } == 2
        }
        host.setRefusesSuspension(false)
        try await scene.pass(21, until: "it to be suspended") { host.isSuspended(process) }
        #expect(try await scene.status().state == .suspended)
        try await scene.end()
    }
}
