import Foundation
import NightshiftAPI

/// The systemd user manager, controlled through `systemctl --user`. Its methods block the thread.
package struct UserManager: Sendable {
    package static let service = "nightshiftd.service"
    package static let socket = "nightshiftd.socket"
    /// The socket of the bridge for clients of aria2.
    package static let bridgeSocket = "nightshift-aria2.socket"

    private let environment: [String: String]
    /// The path of `systemctl`, or nil if it was not found.
    let program: String?

    /// The directory with a file for each user who lingers.
    private let lingerDirectory: String

    package init(environment: [String: String], lingerDirectory: String = "/var/lib/systemd/linger") {
        self.environment = environment
        self.lingerDirectory = lingerDirectory
        program = (environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
            .map { $0 + "/systemctl" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Whether the user manager is running.
    package var isRunning: Bool {
        guard program != nil, let runtime = environment["XDG_RUNTIME_DIR"] else { return false }
        return FileManager.default.fileExists(atPath: runtime + "/systemd/private")
    }

    /// Whether the user manager ends when the user logs out, and the service with it. Users who linger keep it
    /// (loginctl(1)).
    package var endsAtLogout: Bool {
        isRunning && !FileManager.default.fileExists(atPath: "\(lingerDirectory)/\(NSUserName())")
    }

    /// Returns the state of a unit; nil if no user manager answers.
    package func state(of unit: String) -> UnitState? {
        guard isRunning, let result = try? run(["show", "--property=" + UnitState.properties, unit]),
            result.status == 0
        else { return nil }
        let state = UnitState(parsing: result.output)
        return state.loadState.isEmpty ? nil : state
    }

    /// Returns whether systemd itself listens on the socket. If so, a connection starts the service
    /// (systemd.socket(5)).
    package func listens() -> Bool {
        state(of: Self.socket)?.subState == "listening"
    }

    /// Returns whether an administrator or a package enabled the unit for all users. Disabling the unit for one user has
    /// no effect then.
    package func isEnabledForAllUsers(_ unit: String) -> Bool {
        guard isRunning else { return false }
        return (try? run(["--global", "is-enabled", "--quiet", unit], asUser: false))?.status == 0
    }

    /// Runs `systemctl --user`.
    ///
    /// - Throws: ``ServiceUnusable`` with the output of the command if the command fails.
    package func require(_ arguments: [String]) throws {
        let result = try run(arguments)
        guard result.status == 0 else {
            throw ServiceUnusable(
                message: "systemctl --user \(arguments.joined(separator: " ")): \(result.output)")
        }
    }

    private func run(_ arguments: [String], asUser: Bool = true) throws -> ProgramResult {
        guard let program else { throw ServiceUnusable(message: "systemctl was not found in PATH.") }
        return try ProgramResult.of(
            program, (asUser ? ["--user"] : []) + ["--no-pager"] + arguments, environment: environment)
    }
}

/// The state of a unit, as `systemctl show` prints it.
package struct UnitState: Hashable, Sendable {
    /// For example `loaded`, `not-found` or `masked`.
    package var loadState = ""
    /// For example `active`, `inactive` or `failed`.
    package var activeState = ""
    /// For example `running`, `listening` or `dead`.
    package var subState = ""
    /// `success`, or the kind of the last failure.
    package var result = ""
    /// The exit status or signal of the service's last process; 0 for other units.
    package var exitStatus: Int32 = 0
    /// The path of the unit's file; empty if the unit has no file.
    package var path = ""

    static let properties = "LoadState,ActiveState,SubState,Result,ExecMainStatus,FragmentPath"

    package init() {}

    init(parsing text: String) {
        for line in text.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            let value = String(line[line.index(after: equals)...])
            switch line[..<equals] {
            case "LoadState": loadState = value
            case "ActiveState": activeState = value
            case "SubState": subState = value
            case "Result": result = value
            case "ExecMainStatus": exitStatus = Int32(value) ?? 0
            case "FragmentPath": path = value
            default: break
            }
        }
    }

    package var isLoaded: Bool { loadState == "loaded" }
    package var isActive: Bool { activeState == "active" }
    /// Whether the unit failed, or its last start did. systemd starts such a unit again only on request.
    package var hasFailed: Bool { activeState == "failed" || (!result.isEmpty && result != "success") }
}

/// The end of a program that ran to its end.
package struct ProgramResult: Sendable {
    package var status: Int32
    /// Standard output and standard error as one text, without the last line break.
    package var output: String

    /// Runs a program and waits for its end.
    ///
    /// - Throws: ``ServiceUnusable`` if the program cannot be started.
    package static func of(
        _ program: String, _ arguments: [String], environment: [String: String]
    ) throws -> ProgramResult {
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
            throw ServiceUnusable(message: "\(program) could not be started: \(error.systemReason).")
        }
        let bytes = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        let text = String(decoding: bytes, as: UTF8.self)
        return ProgramResult(
            status: process.terminationStatus, output: String(text.reversed().drop(while: \.isNewline).reversed()))
    }
}
