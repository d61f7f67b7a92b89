import Apps
import Device
import Foundation
import Location
import Logging
import NightshiftAPI
import NightshiftCurl
import Notifications
import Operations
import Push
import Refresh
import SimulationSupport
import Store
import Synchronization
import TestSupport
import Testing
import Transfers

/// The services for transfers and for apps over one store, with an app whose process is scripted. No transfer moves
/// bytes: added tasks wait.
final class OperationScene: Sendable {
    let scratch: TemporaryDirectory
    let paths: ServicePaths
    let clock: ManualClock
    let store: Store
    let host: ScriptedProcessHost
    let operations: Operations
    /// The event streams of processes. Releasing a stream disconnects its process.
    private let streams = Mutex<[AsyncStream<ProcessEvent>]>([])
    private let running: Task<Void, Never>

    static let app = AppID(rawValue: "org.example.app")
    static let session = SessionID(app: app, identifier: "s")

    var apps: AppService { operations.apps }
    var transfers: TransferService { operations.transfers }
    var refresh: RefreshService { operations.refresh }
    var location: LocationService { operations.location }
    let places = ScriptedFixSource()
    /// The user's answer to permission prompts.
    let answer = Watched<LocationPermission?>(nil)

    /// - Parameter moment: the device state. By default, it is a state without a network.
    init(keys: String = "X-Nightshift-BackgroundModes=transfer;", moment: DeviceState? = nil) async throws {
        scratch = try TemporaryDirectory()
        let variables = ["NIGHTSHIFT_HOME": scratch.path, "PATH": "/usr/bin:/bin"]
        paths = ServicePaths(environment: variables, homeDirectory: URL(filePath: "/"))
        for path in [paths.state, paths.runtime, paths.partials, paths.files, paths.apps, paths.applications] {
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        }
        try "[Desktop Entry]\nType=Application\nName=App\nExec=/bin/true\n\(keys)\n".write(
            to: paths.applications.appending(path: "\(Self.app.rawValue).desktop"), atomically: true, encoding: .utf8)
        clock = ManualClock(
            ClockReading(
                bootID: ProcessIdentity.currentBootID, bootSeconds: 5_000, awakeSeconds: 1_000,
                wallSeconds: 1_800_000_000))
        store = try Store(paths: paths, now: clock.now())
        host = ScriptedProcessHost { false }
        var offline = DeviceConditions()
        offline.network.isAvailable = false
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let transfers = TransferService(
            TransferService.Environment(
                paths: paths, store: store, transport: ScriptedTransport(clock: clock, seed: 1), clock: clock,
                moment: moment ?? DeviceState(conditions: offline), random: { 0.5 }, logger: logger))
        let apps = AppService(
            AppService.Environment(
                paths: paths, store: store, host: host,
                entries: EntryDirectories(paths: paths, environment: variables), clock: clock,
                transfers: AppService.TransferHooks(transfers, logger: logger),
                variables: variables,
                homeDirectory: scratch.path, fileCreationMask: 0o022, logger: logger))
        operations = Operations(
            transfers: transfers, apps: apps,
            Operations.PartEnvironment(
                store: store, clock: clock, location: places, desktop: DesktopNotifications(environment: [:]),
                state: paths.state, loop: CurlLoop(), logger: logger),
            ask: { [answer] _, _, _, _ in answer.read { $0 } })
        let (refresh, location) = (operations.refresh, operations.location)
        let (notifications, push) = (operations.notifications, operations.push)
        try await apps.prepare()
        try await refresh.prepare()
        try await location.prepare()
        try await notifications.prepare()
        try await push.prepare()
        running = Task {
            async let refreshing: Void = refresh.run()
            async let locating: Void = location.run()
            async let notifying: Void = notifications.run()
            async let pushing: Void = push.run()
            await apps.run()
            _ = await (refreshing, locating, notifying, pushing)
        }
    }

    /// Ends the processes, then the service. Every test calls this at its end.
    func end() async throws {
        host.endAll()
        await apps.stop()
        await refresh.stop()
        await location.stop()
        await operations.notifications.stop()
        await operations.push.stop()
        await running.value
        try store.close()
    }

    // MARK: - The app

    /// Launches the app as the user would, and connects its process.
    func launch() async throws -> Int32 {
        let process = try #require(try await apps.launch(Self.app, LaunchRequest()).processID)
        try await connect(process)
        return process
    }

    func connect(_ process: Int32, asGuest: Bool = false) async throws {
        let stream = try await apps.connect(process: process, executable: nil, app: Self.app, asGuest: asGuest)
        streams.withLock { $0.append(stream) }
    }

    /// Returns the session as the process sees it, and creates the session if it does not exist.
    func attach(_ process: Int32) async throws -> ProcessSession {
        let session = try await operations.session("s", by: CallingProcess(process))
        _ = try await operations.attach(session, SessionSettings())
        return session
    }

    func add(_ numbers: [Int64], in session: ProcessSession) async throws -> [TaskID] {
        try await operations.enqueue(Self.request(numbers), in: session)
    }

    static func request(_ numbers: [Int64]) -> SessionEnqueueRequest {
        SessionEnqueueRequest(
            tasks: numbers.map {
                SessionTaskRequest(taskIdentifier: $0, request: TaskRequest(url: "http://a.example/\($0)"))
            })
    }

    // MARK: - Results on disk

    func tasks() async throws -> [TaskRecord] { try await snapshot().tasks }

    func task(_ id: TaskID) async throws -> TaskRecord {
        try #require(try await store.read { try $0.task(id) })
    }

    /// Returns the app's row and the tasks of its session, read in one transaction.
    func snapshot() async throws -> (app: AppRecord?, tasks: [TaskRecord]) {
        try await store.read { transaction in
            (
                try transaction.app(Self.app),
                try transaction.tasks(session: Self.session, states: nil, after: nil, limit: 10_000)
            )
        }
    }

    func journal(_ decision: Decision) async throws -> [JournalEntry] {
        try await store.read { try $0.journal(after: 0, limit: 10_000) }.filter { $0.decision == decision }
    }
}

/// Returns the problem that `body` throws.
func problem<Value>(_ body: () async throws -> Value) async throws -> Problem {
    do {
        _ = try await body()
    } catch let problem as Problem {
        return problem
    }
    throw NoProblem()
}

private struct NoProblem: Error {}
