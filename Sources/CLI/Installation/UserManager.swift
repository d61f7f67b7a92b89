import Foundation
import NightshiftAPI
import NightshiftClient

/// The user's systemd instance, controlled through `systemctl --user`.
struct UserManager: Sendable {
    var environment: [String: String]
    /// The path of `systemctl`, or nil if it was not found.
    private let program: String?

    init(environment: [String: String]) {
        self.environment = environment
        program = (environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
            .map { $0 + "/systemctl" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Whether the user's systemd is running.
    var isRunning: Bool {
        guard program != nil, let runtime = environment["XDG_RUNTIME_DIR"] else { return false }
        return FileManager.default.fileExists(atPath: runtime + "/systemd/private")
    }

    func isActive(_ unit: String) -> Bool {
        isRunning && (try? run(["is-active", "--quiet", unit]))?.status == 0
    }

    /// Returns whether systemd itself listens on the socket. If so, a connection starts the service
    /// (systemd.socket(5)).
    func listens(for unit: String) -> Bool {
        isRunning && (try? run(["show", "--property=SubState", "--value", unit]))?.said == "listening"
    }

    /// Runs `systemctl --user`. If the command fails, throws an error that contains its output.
    func require(_ arguments: [String]) throws {
        let result = try run(arguments)
        guard result.status == 0 else {
            throw CommandFailure.failed("systemctl --user \(arguments.joined(separator: " ")): \(result.said)")
        }
    }

    func run(_ arguments: [String]) throws -> (status: Int32, said: String) {
        guard let program else { throw CommandFailure.failed("systemctl was not found in PATH.") }
        return try Self.run(program, ["--user", "--no-pager"] + arguments, environment: environment)
    }

    /// Runs a program and returns its standard output and standard error as one text.
    static func run(
        _ program: String, _ arguments: [String], environment: [String: String]
    ) throws -> (status: Int32, said: String) {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        do {
            try process.run()
        } catch {
            throw CommandFailure.failed("\(program) could not be started: \(error.systemReason).")
        }
        let said = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self).trimmingNewlines)
    }
}

extension String {
    fileprivate var trimmingNewlines: String {
        String(reversed().drop { $0.isNewline }.reversed())
    }
}

extension Invocation {
    var userManager: UserManager { UserManager(environment: environment) }

    /// Whether systemd would start the service on a connection. This applies only to the user's default home. A running
    /// service holds the lock; in that case systemd is not asked.
    var systemdListens: Bool {
        service.launcher.location.holder == nil && (environment["NIGHTSHIFT_HOME"] ?? "").isEmpty
            && userManager.listens(for: UnitFiles.socketName)
    }

    /// Returns whether the service is running, without starting it.
    ///
    /// - Throws: ``ServiceUnusable`` if another user owns the socket.
    func serviceRuns() throws -> Bool {
        try !systemdListens && service.launcher.isRunning()
    }

    /// The directory of the user's units (systemd.unit(5), "Unit File Load Path").
    var unitDirectory: URL {
        let base =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? (environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? homeDirectory) + "/.config"
        return URL(filePath: base, directoryHint: .isDirectory).appending(
            path: "systemd/user", directoryHint: .isDirectory)
    }

    /// Throws an error if this is not the user's default home. The units work only for that home.
    func requireDefaultHome() throws {
        guard (environment["NIGHTSHIFT_HOME"] ?? "").isEmpty else {
            throw CommandFailure.usage(
                "NIGHTSHIFT_HOME is set, but the systemd units work only for the default home. "
                    + "Unset it, or start this service with 'nightshift service start'.")
        }
    }
}
