import CSystemd
import Glibc
import NightshiftAPI

/// A service unit that exists only while it runs (org.freedesktop.systemd1(5), "StartTransientUnit").
package struct TransientUnit: Sendable {
    /// The name, which ends in `.service`.
    package var name: String
    package var description: String
    /// The absolute path of the program.
    package var program: String
    package var arguments: [String]
    /// The descriptor of the program's standard input. The caller keeps its own.
    package var input: Int32

    package init(name: String, description: String, program: String, arguments: [String], input: Int32) {
        self.name = name
        self.description = description
        self.program = program
        self.arguments = arguments
        self.input = input
    }
}

extension SessionManager {
    /// Asks the manager to start a unit in `app.slice`, and returns when it has accepted the request. The unit stays
    /// after the end of its program, with the program's status, until ``remove(unit:)``.
    ///
    /// - Returns: Nil, or the reason why the unit cannot be started.
    package func start(_ unit: TransientUnit) -> String? {
        do {
            try call(Self.path, "org.freedesktop.systemd1.Manager", "StartTransientUnit", within: Self.startTimeout) {
                arguments in
                try arguments.append(unit.name)
                try arguments.append("fail")
                try arguments.container("a", "(sv)") { try Self.properties(of: unit, arguments) }
                try arguments.container("a", "(sa(sv))") {}
            } read: { _ in
            }
            return nil
        } catch {
            return (error as? BusFailure)?.text ?? "\(error)"
        }
    }

    /// The number of microseconds to wait until the manager accepts a unit.
    private static let startTimeout: UInt64 = 5_000_000

    private static func property(
        _ name: String, _ type: String, _ arguments: Arguments, _ write: () throws -> Void
    ) throws {
        try arguments.container("r", "sv") {
            try arguments.append(name)
            try arguments.container("v", type, write)
        }
    }

    private static func properties(of unit: TransientUnit, _ arguments: Arguments) throws {
        func property(_ name: String, _ type: String, _ write: () throws -> Void) throws {
            try Self.property(name, type, arguments, write)
        }
        let texts = [
            // The main process alone gets signals of systemd, because the service manages the others.
            ("Description", unit.description), ("Slice", "app.slice"), ("Type", "exec"), ("KillMode", "process"),
            ("StandardOutput", "null"), ("StandardError", "null"),
        ]
        for (name, text) in texts { try property(name, "s") { try arguments.append(text) } }
        try property("RemainAfterExit", "b") { try arguments.append(true) }
        try property("StandardInputFileDescriptor", "h") { try arguments.append(descriptor: unit.input) }
        try property("ExecStart", "a(sasb)") {
            try arguments.container("a", "(sasb)") {
                try arguments.container("r", "sasb") {
                    try arguments.append(unit.program)
                    try arguments.container("a", "s") {
                        for word in [unit.program] + unit.arguments { try arguments.append(word) }
                    }
                    try arguments.append(false)
                }
            }
        }
    }

    /// Moves a process into a scope in `background.slice`, and creates the scope if it does not exist. A scope ends with
    /// its last process. If systemd refuses, the process stays where it is.
    package func gather(_ process: Int32, into scope: String, description: String) {
        func attach() throws {
            try call(Self.path, "org.freedesktop.systemd1.Manager", "AttachProcessesToUnit") { arguments in
                try arguments.append(scope)
                try arguments.append("")
                try arguments.append(processes: [process])
            } read: { _ in
            }
        }
        if (try? attach()) != nil { return }
        try? call(Self.path, "org.freedesktop.systemd1.Manager", "StartTransientUnit") { arguments in
            try arguments.append(scope)
            try arguments.append("fail")
            try arguments.container("a", "(sv)") {
                for (name, text) in [("Description", description), ("Slice", "background.slice")] {
                    try Self.property(name, "s", arguments) { try arguments.append(text) }
                }
                try Self.property("PIDs", "au", arguments) { try arguments.append(processes: [process]) }
            }
            try arguments.container("a", "(sa(sv))") {}
        } read: { _ in
        }
    }

    /// The end of a unit's program: a code of waitid(2), such as `CLD_EXITED`, and the status or the signal.
    package struct ProgramEnd: Hashable, Sendable {
        package var code: Int32
        package var status: Int32
    }

    /// Returns the end of a unit's program. Returns nil while it runs, without the unit, or without an answer.
    package func end(ofUnit name: String) -> ProgramEnd? {
        guard let path = Self.path(ofUnit: name) else { return nil }
        func number(_ property: String) -> Int32? {
            self.property(property, of: "Service", at: path) { answer in
                var value: Int32 = 0
                guard sd_bus_message_enter_container(answer, CChar(UInt8(ascii: "v")), "i") > 0,
                    sd_bus_message_read_basic(answer, CChar(UInt8(ascii: "i")), &value) > 0
                else { return nil }
                return value
            }
        }
        // The code is 0 until systemd has noticed the end.
        guard let code = number("ExecMainCode"), code != 0, let status = number("ExecMainStatus") else { return nil }
        return ProgramEnd(code: code, status: status)
    }

    /// Forgets a unit whose program has ended. Other processes of the unit continue to run.
    package func remove(unit name: String) {
        for method in ["StopUnit", "ResetFailedUnit"] {
            try? call(Self.path, "org.freedesktop.systemd1.Manager", method) { arguments in
                try arguments.append(name)
                if method == "StopUnit" { try arguments.append("fail") }
            } read: { _ in
            }
        }
    }

    /// Returns the names of units that match a pattern of glob(7) and whose program has ended.
    package func endedUnits(like pattern: String) -> [String] {
        let found = try? call(Self.path, "org.freedesktop.systemd1.Manager", "ListUnitsByPatterns") { arguments in
            try arguments.container("a", "s") {}
            try arguments.container("a", "s") { try arguments.append(pattern) }
        } read: { answer in
            Self.endedUnits(answer)
        }
        return found ?? []
    }

    private static func endedUnits(_ answer: OpaquePointer) -> [String] {
        var names: [String] = []
        guard sd_bus_message_enter_container(answer, CChar(UInt8(ascii: "a")), "(ssssssouso)") > 0 else { return [] }
        while sd_bus_message_enter_container(answer, CChar(UInt8(ascii: "r")), "ssssssouso") > 0 {
            // The fields are name, description, load state, active state and substate; then others.
            var fields: [String] = []
            var text: UnsafePointer<CChar>?
            while fields.count < 5, sd_bus_message_read_basic(answer, CChar(UInt8(ascii: "s")), &text) > 0,
                let word = text
            {
                fields.append(String(cString: word))
            }
            guard fields.count == 5, sd_bus_message_skip(answer, "souso") >= 0,
                sd_bus_message_exit_container(answer) >= 0
            else { break }
            if ["exited", "failed", "dead"].contains(fields[4]) { names.append(fields[0]) }
        }
        return names
    }

    private static func path(ofUnit name: String) -> String? {
        var path: UnsafeMutablePointer<CChar>?
        guard sd_bus_path_encode(Self.path + "/unit", name, &path) >= 0, let path else { return nil }
        defer { free(path) }
        return String(cString: path)
    }
}
