import Apps
import Foundation
import NightshiftAPI
import Operations
import Refresh
import SimulationSupport
import Store
import TestSupport
import Testing

/// R1 R9 R10: Requests about background refresh from app processes and from the user, and the app that each request
/// concerns.
@Suite(.timeLimit(.minutes(20))) struct RefreshOperationTests {
    private static let keys = """
        X-Nightshift-BackgroundModes=transfer;fetch;processing;
        X-Nightshift-FetchInterval=never
        """
    private static let tasks = keys + "\nX-Nightshift-TaskIdentifiers=work;export.*;"

    private static func task(_ kind: ScheduledTask.Kind, _ identifier: String = "work") -> ScheduledTask {
        var task = ScheduledTask(identifier: identifier, kind: kind)
        if kind == .continued { task.title = "Export" }
        return task
    }

    @Test func `R1: A process can replace the interval of its app's desktop entry`() async throws {
        let scene = try await OperationScene(keys: Self.keys)
        let before = try await scene.refresh.status(of: OperationScene.app)
        #expect(before.interval == .never && before.intervalSource == .entry)
        let process = try await scene.launch()
        try await scene.operations.setInterval(.minimum, by: CallingProcess(process))
        let status = try await scene.refresh.status(of: OperationScene.app)
        #expect(status.interval == .minimum && status.intervalSource == .app)
        let stranger = try await problem {
            try await scene.operations.setInterval(.minimum, by: CallingProcess(getpid()))
        }
        #expect(stranger.type == "/problems/not-connected")
        try await scene.end()
    }

    @Test func `R9 R10: The refusal of an undeclared background mode names the key to add`() async throws {
        let scene = try await OperationScene()
        let process = try await scene.launch()
        // Setting the interval has no effect and causes no error, as in Apple's API.
        try await scene.operations.setInterval(.minimum, by: CallingProcess(process))
        #expect(
            try await scene.refresh.status(of: OperationScene.app).sentence.contains("X-Nightshift-BackgroundModes"))
        for (kind, key) in [
            (ScheduledTask.Kind.refresh, "'fetch' to X-Nightshift-BackgroundModes"),
            (.processing, "'processing' to X-Nightshift-BackgroundModes"), (.continued, "X-Nightshift-TaskIdentifiers"),
        ] {
            let refusal = try await problem {
                try await scene.operations.submit(Self.task(kind), by: CallingProcess(process))
            }
            #expect(refusal.status == 403 && refusal.detail?.contains(key) == true)
            #expect(refusal.detail?.contains("org.example.app.desktop") == true)
        }
        try await scene.end()
    }

    @Test func `R10: A process submits, lists and cancels its app's tasks`() async throws {
        let scene = try await OperationScene(keys: Self.tasks)
        let process = try await scene.launch()
        let operations = scene.operations
        try await operations.submit(Self.task(.refresh), by: CallingProcess(process))
        try await operations.submit(Self.task(.processing, "export.all"), by: CallingProcess(process))
        func pending() async throws -> Set<String> {
            Set(try await operations.scheduledTasks(by: CallingProcess(process)).map(\.identifier))
        }
        #expect(try await pending() == ["work", "export.all"])
        try await operations.cancel("work", by: CallingProcess(process))
        try await operations.cancel("nothing", by: CallingProcess(process))
        #expect(try await pending() == ["export.all"])
        try await operations.cancel(nil, by: CallingProcess(process))
        #expect(try await pending() == [])
        // The user may submit tasks for the app, except continued tasks, which start in the app's foreground.
        try await operations.submit(Self.task(.processing), for: OperationScene.app)
        #expect(try await pending() == ["work"])
        let refusal = try await problem {
            try await operations.submit(Self.task(.continued), for: OperationScene.app)
        }
        #expect(refusal.status == 422 && refusal.pointer == "/kind")
        try await operations.cancel("work", of: OperationScene.app)
        #expect(try await problem { try await operations.cancel("work", of: OperationScene.app) }.status == 404)
        try await scene.end()
    }

    @Test func `R10: A continued task starts in the foreground, and its app is notified of a cancellation`()
        async throws
    {
        let scene = try await OperationScene(keys: Self.tasks)
        let process = try await scene.launch()
        let operations = scene.operations
        let stream = try await scene.apps.connect(process: process, executable: nil, app: OperationScene.app)
        let commands = Watched<[ProcessCommand]>([])
        let reader = Task {
            for await case .command(let command) in stream { commands.update { $0.append(command) } }
        }
        try await scene.apps.change(process: process, to: .background)
        let behind = try await problem {
            try await operations.submit(Self.task(.continued, "export.1"), by: CallingProcess(process))
        }
        #expect(behind.type == "/problems/task-not-permitted")
        try await scene.apps.change(process: process, to: .active)
        try await operations.submit(Self.task(.continued, "export.1"), by: CallingProcess(process))
        try await commands.wait(for: "the task") { $0.contains { $0.action == .handleWake && $0.key == "export.1" } }
        let progress = ScheduledTaskProgress(completedUnits: 1, totalUnits: 2)
        try await operations.progress("export.1", progress, by: CallingProcess(process))
        let shown = try await scene.refresh.status(of: OperationScene.app).scheduled
        #expect(shown.map(\.progress) == [progress] && shown[0].began != nil)
        try await operations.cancel("export.1", of: OperationScene.app)
        try await commands.wait(for: "the end of the task") {
            $0.contains { $0.action == .expireWake && $0.key == "export.1" }
        }
        let wake = try #require(commands.read { $0.first { $0.action == .handleWake } })
        try await scene.apps.acknowledge(process: process, command: wake.number, result: .failed)
        try await eventually("the end") {
            try await scene.refresh.status(of: OperationScene.app).scheduled.isEmpty
        }
        #expect(try await scene.journal(.taskEnded).map(\.detail) == ["export.1: You cancelled it."])
        reader.cancel()
        try await scene.end()
    }

    @Test func `R1: A fetch launches the app, records the result, and can be made to expire`()
        async throws
    {
        let scene = try await OperationScene(keys: Self.keys)
        let (refresh, app) = (scene.refresh, OperationScene.app)
        let idle = try await problem { try await scene.operations.expire(app, ExpirationRequest()) }
        #expect(idle.status == 409)
        _ = try await refresh.fetchNow(app)
        try await eventually("the launch") { !scene.host.living.isEmpty }
        let process = try #require(scene.host.living.first)
        #expect(scene.host.plan(process)?.environment["NIGHTSHIFT_WAKE"] == "fetch")
        #expect(try await problem { try await refresh.fetchNow(app) }.status == 409)
        try await scene.operations.expire(app, ExpirationRequest())
        let other = try await problem { try await scene.operations.expire(app, ExpirationRequest(identifier: "x")) }
        #expect(other.status == 409 && other.detail?.contains("with the identifier 'x'") == true)
        scene.host.end(process, .exited(RefreshResult.noDataStatus))
        try await eventually("the result") { try await refresh.status(of: app).fetches.last?.ended != nil }
        #expect(try await refresh.status(of: app).fetches.map(\.result) == [.noData])
        #expect(try await scene.store.read { try $0.wakeEnds() }.isEmpty)
        #expect(try await scene.journal(.fetchEnded).count == 1)
        try await scene.end()
    }

    @Test func `R1 R2: The states of an app count as use, and a force quit ends the app's refresh`() async throws {
        let scene = try await OperationScene(keys: Self.keys)
        let (refresh, app) = (scene.refresh, OperationScene.app)
        let process = try await scene.launch()
        try await scene.apps.change(process: process, to: .active)
        try await scene.operations.setInterval(.minimum, by: CallingProcess(process))
        try await eventually("the use") { try await refresh.status(of: app).hold == "inFront" }
        try await scene.apps.change(process: process, to: .background)
        try await eventually("its end") { try await refresh.status(of: app).hold != "inFront" }
        #expect(try await scene.journal(.useBegan).map(\.app) == [app])
        let apps = scene.apps
        async let quit = apps.quit(app, force: true)
        try await eventually("the word of the quit") { try await scene.snapshot().app?.isForceQuit == true }
        scene.host.end(process, .exited(0))
        _ = try await quit
        try await eventually("the hold") { try await refresh.status(of: app).hold == "forceQuit" }
        _ = try await scene.launch()
        try await eventually("no hold") { try await refresh.status(of: app).hold != "forceQuit" }
        try await scene.end()
    }

    @Test func `R1: A removed app no longer has background refresh`() async throws {
        let scene = try await OperationScene(keys: Self.keys)
        _ = try await scene.refresh.change(OperationScene.app, AppRefreshChange(dailyCap: 3))
        try await scene.apps.uninstall(OperationScene.app)
        try await eventually("its end") { try await scene.refresh.status().apps.isEmpty }
        #expect(try await problem { try await scene.refresh.status(of: OperationScene.app) }.status == 404)
        try await scene.end()
    }
}
