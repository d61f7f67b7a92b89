import Foundation
import NightshiftAPI
import Synchronization
import TestSupport

/// One service with its own home, in a process that the test starts and ends as often as it needs.
final class Service: Sendable {
    /// The path of the home. It is short, because a socket's path has at most 107 bytes.
    let home: String
    let api: ServiceAPI
    let paths: ServicePaths
    private let directory: TemporaryDirectory
    private let running = Mutex<ChildProcess?>(nil)
    private let environment: [String: String]

    /// - Parameter home: an existing directory; nil for one that is removed with this object.
    init(home: String? = nil, environment: [String: String] = [:]) throws {
        directory = try TemporaryDirectory()
        self.home = home ?? directory.path("home")
        paths = ServicePaths(environment: ["NIGHTSHIFT_HOME": self.home], homeDirectory: URL(filePath: "/nonexistent"))
        api = ServiceAPI(socket: paths.socket.path)
        self.environment = [
            "NIGHTSHIFT_HOME": self.home, "HOME": directory.path, "NIGHTSHIFT_LOG_LEVEL": "debug", "TZ": "UTC",
            // Services cannot reach the test machine's system bus, so they do not see its device state.
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin:/usr/sbin:/sbin",
        ].merging(environment) { $1 }
    }

    deinit {
        running.withLock { $0?.kill(SIGKILL) }
    }

    /// A directory that, unlike the home, always exists as long as this object.
    var scratch: TemporaryDirectory { directory }

    var process: ChildProcess? { running.withLock { $0 } }

    /// The output of all the service's processes so far.
    var log: String { (try? String(contentsOfFile: directory.path("log"), encoding: .utf8)) ?? "" }

    /// Starts the process and returns at once. `command` is a prefix such as a tracer or a namespace.
    @discardableResult
    func spawn(
        _ program: String = Programs.daemon, under command: [String] = [], environment more: [String: String] = [:]
    ) throws -> ChildProcess {
        let words = command + [program]
        let process = try ChildProcess(
            words[0], arguments: Array(words.dropFirst()), environment: environment.merging(more) { $1 },
            output: .file(directory.path("log")), errors: .file(directory.path("log")))
        running.withLock { $0 = process }
        return process
    }

    /// Starts the process and suspends until it responds.
    func start(under command: [String] = []) async throws {
        let process = try spawn(under: command)
        try await eventually("an answer of the service", within: .seconds(60)) {
            if let exit = process.exit { throw Ended(exit: exit, log: log) }
            return (try? await api.status()) != nil
        }
    }

    /// The error of a service that ended while it should have run.
    struct Ended: Error, CustomStringConvertible {
        let exit: ChildProcess.Exit
        let log: String
        var description: String { "the service ended with \(exit): \(log.suffix(2_000))" }
    }

    /// Sends SIGKILL, and suspends until the process is gone.
    func kill() async throws {
        guard let process else { return }
        process.kill(SIGKILL)
        _ = try await process.waitForExit()
    }

    /// Sends SIGTERM, and suspends until the process is gone.
    @discardableResult
    func stop() async throws -> ChildProcess.Exit? {
        guard let process else { return nil }
        process.kill(SIGTERM)
        return try await process.waitForExit()
    }

    /// Runs `nightshift` against this service.
    func cli(
        _ arguments: [String], directory: String? = nil, input: String? = nil, within bound: Duration = .seconds(60)
    ) async throws -> ChildProcess.Outcome {
        try await ChildProcess.run(
            Programs.commandLine, arguments, environment: environment, directory: directory ?? self.directory.path,
            input: input, within: bound)
    }

    /// Runs `nightshift` in a shell, with redirections at the end.
    func cli(_ arguments: [String], redirecting: String) async throws -> ChildProcess.Outcome {
        try await ChildProcess.run(
            "sh", ["-c", "exec \"$0\" \"$@\" \(redirecting)", Programs.commandLine] + arguments,
            environment: environment, directory: directory.path)
    }

    /// Starts `nightshift` in a process that the test ends.
    func startCLI(_ arguments: [String], output: String) throws -> ChildProcess {
        try ChildProcess(
            Programs.commandLine, arguments: arguments, environment: environment, output: .file(output),
            errors: .file(output), directory: directory.path)
    }

    /// Returns the length of a download's beginning that the database records as on disk. This part survives any crash.
    func savedBytes(_ id: TaskID) async throws -> Int64 {
        let query = "SELECT coalesce(json_extract(partial, '$.synced'), 0) FROM tasks WHERE id = \(id)"
        let outcome = try await ChildProcess.run(
            "sqlite3", ["-readonly", "-cmd", ".timeout 10000", paths.database.path, query])
        guard let bytes = Int64(outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw SystemError("sqlite3: \(outcome.errors)")
        }
        return bytes
    }

    // MARK: - Waiting

    /// Suspends until the task satisfies the condition, across restarts of the service.
    @discardableResult
    func wait(
        _ id: TaskID, for what: String, within bound: Duration = .seconds(60),
        until isSatisfied: (TaskStatus) -> Bool
    ) async throws -> TaskStatus {
        var last: TaskStatus?
        do {
            try await eventually("\(what) of task \(id)", within: bound) {
                guard let status = try? await api.task(id) else { return false }
                last = status
                return isSatisfied(status)
            }
        } catch is WaitedTooLong {
            throw InVain(what: what, task: id, last: last, log: log, threads: threads)
        }
        guard let last else { throw InVain(what: what, task: id, last: nil, log: log, threads: threads) }
        return last
    }

    /// The error of a task that did not reach the expected state.
    struct InVain: Error, CustomStringConvertible {
        let what: String
        let task: TaskID
        let last: TaskStatus?
        let log: String
        let threads: [String]

        var description: String {
            let state = last.map { "\($0)" } ?? "unknown"
            let lines = log.split(separator: "\n")
            let ofTask = lines.filter { $0.contains("task=\(task) ") || $0.contains("error") }
            return "waited without success for \(what) of task \(task), which is \(state); log:\n"
                + ofTask.suffix(20).joined(separator: "\n") + "\nits end:\n" + lines.suffix(20).joined(separator: "\n")
                + "\nthreads:\n" + threads.joined(separator: "\n")
        }
    }

    /// The kernel's information about each thread of the service: name, state, tracer and current system call.
    private var threads: [String] {
        guard let process else { return ["none: there is no process"] }
        if let exit = process.exit { return ["none: the process ended with \(exit)"] }
        let folder = "/proc/\(process.pid)/task"
        return names(in: folder).map { thread in
            let status = (try? String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8)) ?? ""
            let fields = status.split(separator: "\n").filter { line in
                ["Name:", "State:", "TracerPid:"].contains { line.hasPrefix($0) }
            }
            let call = (try? String(contentsOfFile: "\(folder)/\(thread)/syscall", encoding: .utf8)) ?? ""
            return "\(thread) \(fields.joined(separator: " ")) call \(call.prefix { $0 != "\n" })"
        }
    }

    @discardableResult
    func waitForEnd(_ id: TaskID, within bound: Duration = .seconds(90)) async throws -> TaskStatus {
        try await wait(id, for: "the end", within: bound) { $0.state.isTerminal }
    }

    func waitForEnds(_ ids: [TaskID], within bound: Duration = .seconds(120)) async throws {
        for id in ids { try await waitForEnd(id, within: bound) }
    }

    // MARK: - Files

    /// The names of unfinished files in the service's own directory.
    var partialFiles: [String] { names(in: paths.partials.path) }

    func names(in path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }
}

extension TaskRequest {
    /// Returns a request to download to `directory`, which is created if it does not exist.
    static func download(_ url: String, to directory: String, named name: String? = "file") -> TaskRequest {
        var request = TaskRequest(url: url)
        request.destination = Destination(directory: directory, filename: name)
        return request
    }

    static func upload(_ source: String, to url: String) -> TaskRequest {
        var request = TaskRequest(kind: .upload, url: url)
        request.source = source
        return request
    }
}
