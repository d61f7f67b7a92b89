import CSystemd
import Foundation
import Glibc
import NightshiftAPI

/// The systemd user manager, if it runs.
package struct SessionManager: Sendable {
    private let address: String?
    /// The path of systemd's own socket.
    private let privateSocket: String?

    /// - Parameter environment: the environment with the address of the session bus.
    package init(environment: [String: String]) {
        address =
            environment["DBUS_SESSION_BUS_ADDRESS"]
            ?? environment["XDG_RUNTIME_DIR"].map { "unix:path=\($0)/bus" }
        privateSocket = environment["XDG_RUNTIME_DIR"].map { "\($0)/systemd/private" }
    }

    /// The number of microseconds to wait for the manager. A working manager needs less even on a busy machine. Calls
    /// block for at most this time.
    private static let timeout: UInt64 = 1_000_000

    /// Returns the current environment that the manager gives to the programs it starts (`systemctl --user
    /// show-environment`). A desktop adds its own variables after the login. Returns nil if there is no such manager,
    /// or if it does not answer.
    package func environment() -> [String: String]? {
        property("Environment", of: "Manager", at: Self.path) { Self.assignments($0) }
    }

    static let path = "/org/freedesktop/systemd1"

    /// Reads a property of the manager or of a unit. Returns nil if the manager does not answer.
    func property<Value>(
        _ name: String, of interface: String, at path: String, _ read: (OpaquePointer) -> Value?
    ) -> Value? {
        try? call(path, "org.freedesktop.DBus.Properties", "Get") { question in
            for word in ["org.freedesktop.systemd1." + interface, name] { try question.append(word) }
        } read: { answer in
            read(answer)
        }
    }

    /// Calls a method of the manager, and returns what `read` makes of the answer.
    ///
    /// - Throws: ``BusFailure`` if there is no manager, or if the call fails.
    func call<Value>(
        _ path: String, _ interface: String, _ method: String, within timeout: UInt64 = Self.timeout,
        _ write: (Arguments) throws -> Void, read: (OpaquePointer) -> Value
    ) throws -> Value {
        let bus = try open()
        defer { sd_bus_close_unref(bus) }
        var question: OpaquePointer?
        try BusFailure.check(
            sd_bus_message_new_method_call(bus, &question, "org.freedesktop.systemd1", path, interface, method))
        guard let question else { throw BusFailure("the message cannot be made") }
        defer { sd_bus_message_unref(question) }
        try write(Arguments(message: question))
        // If the bus was not started by systemd, it must not try to start systemd.
        sd_bus_message_set_auto_start(question, 0)
        var answer: OpaquePointer?
        try BusFailure.check(sd_bus_call(bus, question, timeout, nil, &answer))
        guard let answer else { throw BusFailure("there was no answer") }
        defer { sd_bus_message_unref(answer) }
        return read(answer)
    }

    private func open() throws -> OpaquePointer {
        guard let address else { throw BusFailure("there is no session bus") }
        // No attempt is made without a socket. A bus that does not use a Unix socket is not a session bus.
        if BusAddress.socketPaths(address).contains(where: { access($0, R_OK | W_OK) == 0 }) {
            return try connect(address, isBus: true)
        }
        // systemctl uses this socket on systems without a session bus.
        guard let privateSocket, access(privateSocket, R_OK | W_OK) == 0 else {
            throw BusFailure("there is no session bus")
        }
        return try connect("unix:path=\(privateSocket)", isBus: false)
    }

    private func connect(_ address: String, isBus: Bool) throws -> OpaquePointer {
        var opened: OpaquePointer?
        try BusFailure.check(sd_bus_new(&opened))
        guard let bus = opened else { throw BusFailure("the connection cannot be made") }
        guard sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, isBus ? 1 : 0) >= 0,
            sd_bus_start(bus) >= 0, Self.waitUntilReady(bus)
        else {
            sd_bus_close_unref(bus)
            throw BusFailure("the session bus did not answer")
        }
        return bus
    }

    /// The arguments of a call that is being written.
    struct Arguments {
        let message: OpaquePointer

        func append(_ text: String) throws {
            try BusFailure.check(sd_bus_message_append_basic(message, Self.code("s"), text))
        }

        func append(_ truth: Bool) throws {
            var value: Int32 = truth ? 1 : 0
            try BusFailure.check(sd_bus_message_append_basic(message, Self.code("b"), &value))
        }

        func append(processes: [Int32]) throws {
            try container("a", "u") {
                for process in processes {
                    var value = UInt32(bitPattern: process)
                    try BusFailure.check(sd_bus_message_append_basic(message, Self.code("u"), &value))
                }
            }
        }

        /// Appends a descriptor, which is duplicated.
        func append(descriptor: Int32) throws {
            var value = descriptor
            try BusFailure.check(sd_bus_message_append_basic(message, Self.code("h"), &value))
        }

        /// Appends an array, a structure or a variant with the given contents.
        func container(_ type: Character, _ contents: String, _ write: () throws -> Void) throws {
            try BusFailure.check(sd_bus_message_open_container(message, Self.code(type), contents))
            try write()
            try BusFailure.check(sd_bus_message_close_container(message))
        }

        private static func code(_ type: Character) -> CChar { CChar(type.asciiValue ?? 0) }
    }

    /// Waits for the bus to be ready. The default of sd-bus is to wait 90 seconds for a bus that does not answer.
    private static func waitUntilReady(_ bus: OpaquePointer) -> Bool {
        let end = ContinuousClock.now + .microseconds(Int64(timeout))
        while sd_bus_is_ready(bus) == 0 {
            let left = ContinuousClock.now.duration(to: end) / .microseconds(1)
            guard left > 0 else { return false }
            let processed = sd_bus_process(bus, nil)
            if processed < 0 { return false }
            if processed == 0, sd_bus_wait(bus, UInt64(saturating: left)) < 0 { return false }
        }
        return sd_bus_is_ready(bus) > 0
    }

    private static func assignments(_ answer: OpaquePointer) -> [String: String]? {
        guard sd_bus_message_enter_container(answer, CChar(UInt8(ascii: "v")), "as") > 0,
            sd_bus_message_enter_container(answer, CChar(UInt8(ascii: "a")), "s") > 0
        else { return nil }
        var variables: [String: String] = [:]
        var text: UnsafePointer<CChar>?
        while sd_bus_message_read_basic(answer, CChar(UInt8(ascii: "s")), &text) > 0, let word = text {
            let assignment = String(cString: word)
            guard let equals = assignment.firstIndex(of: "=") else { continue }
            variables[String(assignment[..<equals])] = String(assignment[assignment.index(after: equals)...])
        }
        return variables
    }
}
