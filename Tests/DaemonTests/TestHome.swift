import Foundation
import Glibc
import Logging
import NightshiftAPI
import TestSupport
import Testing

@testable import Daemon

/// Tests with services in this process, which run one after another. Otherwise a program that another test starts could
/// hold the lock of a service from its fork to its exec.
@Suite(.serialized, .timeLimit(.minutes(20))) enum Services {}

/// The home of consecutive services that run in this process, with a real socket, a real database and a real network.
/// The conditions of the machine do not affect the tests, because a constant trace replaces the device.
struct TestHome: Sendable {
    let directory: TemporaryDirectory
    let paths: ServicePaths
    var environment: [String: String]
    let log = RecordedLog()

    init(device: String = #""power": "external", "idle": false"#) throws {
        // The tests write to sockets that their peers have closed.
        signal(SIGPIPE, SIG_IGN)
        directory = try TemporaryDirectory()
        let home = directory.path("home")
        environment = [
            "NIGHTSHIFT_HOME": home, "HOME": directory.path, "TZ": "UTC", "PATH": "/usr/local/bin:/usr/bin:/bin",
            "NIGHTSHIFT_DEVICE_TRACE": try directory.write(#"{"at": 0, "device": {\#(device)}}"# + "\n", to: "trace"),
        ]
        paths = ServicePaths(environment: environment, homeDirectory: URL(filePath: "/nonexistent"))
    }

    func configuration() async throws -> DaemonConfiguration {
        try await DaemonConfiguration.read(
            environment: environment, homeDirectory: URL(filePath: directory.path, directoryHint: .isDirectory))
    }

    /// Creates a composed service that does not run.
    func daemon() async throws -> Daemon {
        try Daemon(try await configuration(), descriptors: DescriptorLimit(count: 1 << 20), logger: log.logger)
    }

    var client: TestClient { TestClient(socket: paths.socket.path) }

    func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    /// Whether the database was closed, with all data in the main file.
    var databaseIsOneFile: Bool {
        let log = paths.database.path + "-wal"
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: log) else { return true }
        return attributes[.size] as? Int == 0
    }

    /// Starts a service, runs `body` after the service's first response, and then stops the service. When this returns,
    /// the service has ended and released all resources.
    ///
    /// - Throws: the error of the service, or else the error of `body`.
    func serve<Result>(_ body: (RunningService) async throws -> Result) async throws -> Result {
        let service = RunningService(home: self)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { service.hasEnded.update { $0 = true } }
                try await daemon().run()
            }
            let result: Result
            do {
                try await service.waitForAnswer()
                result = try await body(service)
                if !service.hasEnded.read({ $0 }) { try await service.shutDown() }
            } catch {
                // The error of a service that has ended on its own is more informative.
                if service.hasEnded.read({ $0 }) { try await tasks.waitForAll() }
                tasks.cancelAll()
                _ = await tasks.nextResult()
                throw error
            }
            try await tasks.waitForAll()
            return result
        }
    }
}

/// A service that runs in this process, as its clients see it.
struct RunningService: Sendable {
    let home: TestHome
    let hasEnded = Watched(false)

    struct Ended: Error {}

    var client: TestClient { home.client }

    fileprivate func waitForAnswer() async throws {
        try await eventually("an answer of the service") {
            guard !hasEnded.read({ $0 }) else { throw Ended() }
            return (try? await status()) != nil
        }
    }

    /// Sends `POST /v1/shutdown`, and suspends until the service has ended.
    func shutDown() async throws {
        try await client.send("POST", "/v1/shutdown")
        try await waitForEnd()
    }

    func waitForEnd() async throws {
        try await hasEnded.wait(for: "the end of the service") { $0 }
    }

    func status() async throws -> ServiceStatus { try await client.get("/v1/status", as: ServiceStatus.self) }

    func device() async throws -> DeviceStatus { try await client.get("/v1/device", as: DeviceStatus.self) }

    @discardableResult
    func change(_ change: DeviceChange) async throws -> DeviceStatus {
        try await client.patch("/v1/device", change, as: DeviceStatus.self)
    }

    @discardableResult
    func doze(_ phase: DozePhase) async throws -> DeviceStatus {
        try await client.post("/v1/device/doze", DozeRequest(phase: phase), as: DeviceStatus.self)
    }

    func enqueue(_ requests: [TaskRequest]) async throws -> [TaskID] {
        try await client.post("/v1/tasks", EnqueueRequest(tasks: requests), as: EnqueueResponse.self).ids
    }

    func enqueue(_ request: TaskRequest) async throws -> TaskID {
        guard let id = try await enqueue([request]).first else { throw Ended() }
        return id
    }

    func task(_ id: TaskID) async throws -> TaskStatus {
        try await client.get("/v1/tasks/\(id)", as: TaskStatus.self)
    }

    func journal(task: TaskID? = nil) async throws -> [JournalEntry] {
        let path = "/v1/journal" + (task.map { "?task=\($0)" } ?? "")
        return try await client.get(path, as: JournalPage.self).entries
    }

    /// Suspends until the transfer satisfies the condition.
    @discardableResult
    func wait(
        _ id: TaskID, for what: String, within bound: Duration = .seconds(60), until isSuch: (TaskStatus) -> Bool
    ) async throws -> TaskStatus {
        var last = try await task(id)
        try await eventually("\(what) of task \(id)", within: bound) {
            last = try await task(id)
            return isSuch(last)
        }
        return last
    }

    @discardableResult
    func waitForEnd(of id: TaskID) async throws -> TaskStatus {
        try await wait(id, for: "the end") { $0.state.isTerminal }
    }
}

extension TaskRequest {
    /// A download over one connection. A second connection would fetch bytes that the origin holds back on the first
    /// one.
    static func download(_ url: String, to directory: String, named name: String = "file") -> TaskRequest {
        var request = TaskRequest(url: url)
        request.destination = Destination(directory: directory, filename: name)
        request.connections = 1
        return request
    }
}

/// A recording of all log messages of a service.
final class RecordedLog: Sendable {
    private let kept = Watched<[LogEvent]>([])

    var logger: Logger {
        var logger = Logger(label: "test", factory: { [kept] _ in Handler(kept: kept) })
        logger.logLevel = .debug
        return logger
    }

    /// The warnings and errors of all loggers.
    var troubles: [String] {
        kept.read { $0.filter { $0.level >= .warning }.map { "\($0.message) \($0.metadata ?? [:])" } }
    }

    private struct Handler: LogHandler {
        let kept: Watched<[LogEvent]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            kept.update { $0.append(event) }
        }
    }
}
