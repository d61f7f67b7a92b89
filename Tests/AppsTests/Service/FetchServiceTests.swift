import Apps
import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing

/// Tests of fetches and tasks in the service, from the row that a feature writes to the end that the feature reads.
@Suite(.timeLimit(.minutes(20))) struct FetchServiceTests {
    private static let modes = "X-Nightshift-BackgroundModes=fetch;processing;"

    private func put(_ scene: ServiceScene, _ source: WakeSource = .fetch, key: String = "") async throws {
        let now = scene.clock.now()
        try await scene.store.write { try $0.putWake(ServiceScene.app, source, key: key, now: now) }
    }

    private func launched(_ scene: ServiceScene) async throws -> (Int32, LaunchPlan) {
        let host = try #require(scene.scripted)
        try await eventually("the launch") { !host.living.isEmpty }
        let process = try #require(host.living.first)
        return (process, try #require(host.plan(process)))
    }

    private func connect(_ scene: ServiceScene, _ process: Int32) async throws -> CommandReader {
        CommandReader(try await scene.service.connect(process: process, executable: nil, app: ServiceScene.app))
    }

    private func ends(_ scene: ServiceScene) async throws -> [StoredWakeEnd] {
        try await scene.store.read { try $0.wakeEnds() }
    }

    /// Waits for the end of the only wake, and returns it.
    private func end(_ scene: ServiceScene) async throws -> StoredWakeEnd {
        try await eventually("the end") { try await !ends(scene).isEmpty }
        let found = try await ends(scene)
        #expect(found.count == 1)
        #expect(try await scene.store.read { try $0.wantedWakes() }.isEmpty)
        return try #require(found.first)
    }

    // MARK: - Ends

    @Test func `R1: The result of a fetch is on disk before background refresh is notified`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene)
        let (process, plan) = try await launched(scene)
        #expect(plan.environment["NIGHTSHIFT_WAKE"] == "fetch" && plan.environment["NIGHTSHIFT_TASK"] == nil)
        #expect(plan.environment["NIGHTSHIFT_WAKE_LIMIT"] == "30")
        let reader = try await connect(scene, process)
        let command = try await reader.command(.handleWake)
        #expect(command.source == .fetch && command.limit == 30)
        try await scene.service.acknowledge(process: process, command: command.number, result: .noData)
        try await scene.partCalls.wait(for: "the end") { $0.contains(.wakesEnded(1)) }
        let end = try await end(scene)
        #expect(end.app == ServiceScene.app && end.source == .fetch && end.wake == command.through)
        #expect(end.end == WakeEnd(result: .noData, time: scene.clock.now().wallSeconds))
        // The app makes a new snapshot and is suspended.
        let snapshot = try await reader.command(.snapshot)
        try await scene.service.acknowledge(process: process, command: snapshot.number)
        try await eventually("its rest") { try await scene.status().state == .suspended }
        try await scene.end()
    }

    @Test(arguments: [
        (Int32(0), RefreshResult.newData, nil), (10, .noData, nil), (3, .failed, "The program exited with status 3."),
    ])
    func `R1: A program's exit status is the result of its fetch`(
        status: Int32, result: RefreshResult, detail: String?
    ) async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene)
        let (process, _) = try await launched(scene)
        scene.scripted?.end(process, .exited(status))
        let end = try await end(scene)
        #expect(end.end.result == result && end.end.detail == detail)
        try await eventually("its end") { try await scene.status().state == .notRunning }
        #expect(try await scene.status().faults == 0)
        try await scene.end()
    }

    @Test func `R10: A scheduled task is launched with its identifier, and without a limit if it has none`()
        async throws
    {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene, .processing, key: "org.example.app.clean")
        let (process, plan) = try await launched(scene)
        #expect(plan.environment["NIGHTSHIFT_TASK"] == "org.example.app.clean")
        #expect(plan.environment["NIGHTSHIFT_WAKE_LIMIT"] == "300")
        scene.scripted?.end(process, .exited(0))
        #expect(try await end(scene).key == "org.example.app.clean")
        try await scene.end()
    }

    @Test func `R1: An app gets a warning before the 30 s of its fetch end, and is ended after them`()
        async throws
    {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene)
        let (process, _) = try await launched(scene)
        let reader = try await connect(scene, process)
        _ = try await reader.command(.handleWake)
        try await eventually("the alarm") { scene.clock.nextWaking == 5_025 }
        scene.clock.advance(to: 5_025)
        let command = try await reader.command(.expireWake)
        #expect(command.source == .fetch && command.limit == 5)
        try await eventually("the end's alarm") { scene.clock.nextWaking == 5_030 }
        try await eventually("the journal") {
            try await scene.history().contains { $0.decision == .wakeExpiring && $0.detail == "fetch" }
        }
        scene.clock.advance(to: 5_030)
        #expect(try await end(scene).end.result == .failed)
        try await eventually("its end") { try await scene.status().state == .notRunning }
        #expect(try await scene.status().lastExit?.cause == .fetchOverdue)
        #expect(try await scene.history().contains { $0.detail?.contains("0x2182bad4") == true })
        try await scene.end()
    }

    @Test func `R1: A fetch whose process is killed fails once and does not begin again`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene)
        let (process, _) = try await launched(scene)
        _ = try await scene.service.kill(ServiceScene.app)
        #expect(try await end(scene).end.detail == "Its process ended before the work was done.")
        scene.clock.advance(to: 9_000)
        try await put(scene, .processing, key: "next")
        let (next, plan) = try await launched(scene)
        #expect(next != process && plan.environment["NIGHTSHIFT_WAKE"] == "processing")
        scene.scripted?.end(next, .exited(0))
        try await eventually("the second end") { try await ends(scene).count == 2 }
        try await scene.end()
    }

    @Test func `R1: A fetch that cannot begin fails at once`() async throws {
        let scene = try await ServiceScene(keys: "X-Nightshift-BackgroundModes=fetch;")
        try await put(scene, .processing, key: "k")
        let why = "The app's entry does not declare the background mode 'processing'."
        #expect(try await end(scene).end.detail == why)
        try await scene.end()
    }

    // MARK: - Restarts of the service

    @Test func `R1: A fetch that runs at a crash ends once, with the result that the next service receives`()
        async throws
    {
        let first = try await ServiceScene(keys: Self.modes)
        try await put(first)
        let (process, _) = try await launched(first)
        let told = try await connect(first, process).command(.handleWake)
        try await eventually("the record") {
            try await first.store.read { try $0.app(ServiceScene.app) }?.processState?.begun.first?.command
                == told.number
        }
        try await first.crash()
        let next = try await ServiceScene(keys: Self.modes, after: first)
        let again = try await connect(next, process).command(.handleWake)
        #expect(again == told)
        try await next.service.acknowledge(process: process, command: again.number, result: .newData)
        #expect(try await end(next).end.result == .newData)
        #expect(next.scripted?.launches.count == 1)
        try await next.end()
    }

    @Test func `R1: A fetch whose process ended while no service ran ends once, without a result`()
        async throws
    {
        let first = try await ServiceScene(keys: Self.modes)
        try await put(first)
        let (process, _) = try await launched(first)
        try await eventually("the record") {
            try await first.store.read { try $0.app(ServiceScene.app) }?.process != nil
        }
        try await first.crash()
        first.scripted?.end(process, .exited(0))
        let next = try await ServiceScene(keys: Self.modes, after: first)
        #expect(try await end(next).end.result == nil)
        try await next.partCalls.wait(for: "the end") { $0.contains(.wakesEnded(1)) }
        #expect(next.scripted?.launches.count == 1)
        try await next.end()
    }

    // MARK: - Called-off wakes

    @Test func `R1: Calling off a wake warns its app at once, and fails if there is no running wake`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene, .processing, key: "clean")
        let (process, _) = try await launched(scene)
        let reader = try await connect(scene, process)
        let command = try await reader.command(.handleWake)
        try await scene.service.expire(ServiceScene.app, .processing, key: "clean")
        #expect(try await reader.command(.expireWake).limit == 5)
        try await scene.service.acknowledge(process: process, command: command.number, result: .failed)
        #expect(try await end(scene).end == WakeEnd(result: .failed, time: scene.clock.now().wallSeconds))
        for (app, key, type) in [
            (ServiceScene.app, "clean", "/problems/conflict"), (ServiceScene.app, "other", "/problems/conflict"),
            (AppID(rawValue: "org.example.none"), "clean", "/problems/not-found"),
        ] {
            let problem = await #expect(throws: Problem.self) {
                try await scene.service.expire(app, .processing, key: key)
            }
            #expect(problem?.type == type)
        }
        try await scene.end()
    }

    @Test func `R1: The service drops a new wake that is called off while its app is in the foreground`()
        async throws
    {
        let scene = try await ServiceScene(keys: Self.modes)
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        try await put(scene)
        try await scene.service.expire(ServiceScene.app, .fetch, key: "")
        #expect(try await end(scene).end.detail == "The wake was called off before it began.")
        #expect(try await scene.status().state == .active)
        try await scene.end()
    }

    @Test func `R1: The service sends SIGTERM to a program whose wake is called off`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene)
        let (process, _) = try await launched(scene)
        try await eventually("the start") { try await scene.status().wakes.count == 1 }
        try await scene.service.expire(ServiceScene.app, .fetch, key: "")
        #expect(scene.scripted?.isAskedToEnd(process) == true)
        scene.scripted?.end(process, .signalled(SIGTERM))
        #expect(try await end(scene).end.result == .failed)
        try await eventually("its end") { try await scene.status().state == .notRunning }
        #expect(try await scene.status().faults == 0)
        try await scene.end()
    }

    // MARK: - Reports to background refresh and its notices

    @Test func `R1: Background refresh gets reports of use, launches and force quits in order`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        let host = try #require(scene.scripted)
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        _ = try await scene.service.background(ServiceScene.app)
        _ = try await scene.service.activate(ServiceScene.app)
        let process = try #require(host.living.first)
        let service = scene.service
        async let quit = service.quit(ServiceScene.app, force: true)
        try await eventually("SIGTERM") { host.isAskedToEnd(process) }
        host.end(process, .exited(0))
        _ = try await quit
        // A launch in the background does not count as use.
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest(background: true))
        _ = try await scene.service.activate(ServiceScene.app)
        let expected: [ServiceScene.PartCall] = [
            .launched, .use(true), .use(false), .use(true), .forceQuit, .use(false), .launched, .use(true),
        ]
        try await scene.partCalls.wait(for: "what happened") { $0.count >= expected.count }
        #expect(scene.partCalls.read { $0 } == expected)
        try await scene.end()
    }

    @Test func `R1: A starting service reports the apps in the foreground and those force-quit`() async throws {
        let first = try await ServiceScene(keys: Self.modes)
        _ = try await first.service.launch(ServiceScene.app, LaunchRequest())
        try await first.crash()
        let next = try await ServiceScene(keys: Self.modes, after: first)
        try await next.partCalls.wait(for: "what is in front") { $0 == [.use(true)] }
        let process = try #require(next.scripted?.living.first)
        let service = next.service
        async let quit = service.quit(ServiceScene.app, force: true)
        try await eventually("SIGTERM") { next.scripted?.isAskedToEnd(process) == true }
        next.scripted?.end(process, .exited(0))
        _ = try await quit
        try await next.crash()
        let last = try await ServiceScene(keys: Self.modes, after: next)
        try await last.partCalls.wait(for: "who is force-quit") { $0 == [.forceQuit] }
        try await last.end()
    }

    @Test func `R1: Background refresh gets reports of installed and removed entries`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        let id = AppID(rawValue: "org.example.new")
        let path = scene.scratch.path + "/org.example.new.desktop"
        try "[Desktop Entry]\nType=Application\nName=New\nExec=/bin/true\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        // A caller that has its response can ask the features about the app.
        scene.arePartsBusy.update { $0 = true }
        let (service, answered) = (scene.service, Watched(0))
        let installing = Task {
            _ = try await service.install(path)
            answered.update { $0 += 1 }
        }
        var expected: [ServiceScene.PartCall] = [.installed(id, name: "New")]
        try await scene.partCalls.wait(for: "the entry") { [expected] in $0 == expected }
        for _ in 0..<50 { _ = try await service.app(ServiceScene.app) }
        #expect(answered.read { $0 } == 0)
        scene.arePartsBusy.update { $0 = false }
        try await installing.value
        try await service.uninstall(id)
        expected.append(.installed(id, name: nil))
        #expect(scene.partCalls.read { $0 } == expected)
        // A service that stops does not wait for the features.
        scene.arePartsBusy.update { $0 = true }
        let late = Task { _ = try await service.install(path) }
        expected.append(.installed(id, name: "New"))
        try await scene.partCalls.wait(for: "the entry again") { [expected] in $0 == expected }
        await service.stop()
        try await late.value
        scene.arePartsBusy.update { $0 = false }
        try await scene.end()
    }

    @Test func `An installation names a program that the service cannot find, and the searched folders`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        let path = scene.scratch.path + "/org.example.new.desktop"
        func install(_ keys: String) async throws -> String? {
            try "[Desktop Entry]\nType=Application\nName=New\n\(keys)\n".write(
                toFile: path, atomically: true, encoding: .utf8)
            return try await scene.service.install(path).missingProgram
        }
        #expect(try await install("Exec=true") == nil)
        #expect(
            try await install("Exec=no-such-program")
                == "The program 'no-such-program' is in no folder of the service's PATH (/usr/bin:/bin).")
        #expect(
            try await install("Exec=true\nX-Nightshift-Wake=/nonexistent/program --now")
                == "The program '/nonexistent/program' does not exist or cannot be executed.")
        let id = AppID(rawValue: "org.example.new")
        #expect(try await scene.service.app(id).missingProgram == nil)
        try await scene.end()
    }

    @Test func `R1: A process gets its refresh status after its hello message, and every later change`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        let process = try #require(scene.scripted?.living.first)
        let reader = try await connect(scene, process)
        _ = try await reader.command(.enter)
        let events = reader.events.read { $0 }
        guard case .hello = events.first else {
            Issue.record("\(events)")
            return
        }
        #expect(events.dropFirst().first == .refresh(RefreshNotice(availability: .available)))
        await scene.service.tell(ServiceScene.app, .refresh(RefreshNotice(availability: .denied)))
        await scene.service.tell(
            AppID(rawValue: "org.example.other"), .refresh(RefreshNotice(availability: .restricted)))
        try await reader.events.wait(for: "the change") {
            $0.last == .refresh(RefreshNotice(availability: .denied))
        }
        try await scene.end()
    }

    @Test func `R1: An older notice does not overwrite a change that happens while a process connects`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        let process = try #require(scene.scripted?.living.first)
        let token = ProcessEvent.push(PushNotice(token: "0a"))
        scene.notices.update { $0.append(token) }
        scene.arePartsBusy.update { $0 = true }
        let service = scene.service
        async let connecting = service.connect(process: process, executable: nil, app: ServiceScene.app)
        try await scene.partCalls.wait(for: "the question") { $0.contains(.askedForNotices) }
        // The last notice of each kind counts, even of a kind that the response did not contain.
        let denied = ProcessEvent.refresh(RefreshNotice(availability: .denied))
        await service.tell(ServiceScene.app, .location(LocationNotice(permission: .always)))
        await service.tell(ServiceScene.app, denied)
        await service.tell(ServiceScene.app, .location(LocationNotice(permission: .denied)))
        scene.arePartsBusy.update { $0 = false }
        let reader = CommandReader(try await connecting)
        _ = try await reader.command(.enter)
        let events = reader.events.read { $0 }
        #expect(
            Array(events.dropFirst().prefix(3)) == [token, denied, .location(LocationNotice(permission: .denied))])
        #expect(events.count { $0.isNotice } == 3)
        // The next process gets the notices of that time.
        scene.notices.update { $0 = [.location(LocationNotice(permission: .whenInUse))] }
        let other = CommandReader(
            try await service.connect(process: process, executable: nil, app: ServiceScene.app, asGuest: true))
        try await other.events.wait(for: "the notice") {
            $0.dropFirst().first == .location(LocationNotice(permission: .whenInUse))
        }
        #expect(other.events.read { $0.count { $0.isNotice } } == 1)
        try await scene.end()
    }
}

extension ProcessEvent {
    fileprivate var isNotice: Bool {
        switch self {
        case .refresh, .location, .push: true
        case .hello, .command, .stopping: false
        }
    }
}
