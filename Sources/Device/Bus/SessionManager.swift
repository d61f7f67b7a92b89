import CSystemd
import Foundation
import Glibc
import NightshiftAPI

/// The systemd user manager, if it runs.
package struct SessionManager: Sendable {
    private let address: String?

    /// - Parameter environment: the environment with the address of the session bus.
    package init(environment: [String: String]) {
        address =
            environment["DBUS_SESSION_BUS_ADDRESS"]
            ?? environment["XDG_RUNTIME_DIR"].map { "unix:path=\($0)/bus" }
    }

    /// The number of microseconds to wait for the manager. A working manager needs less even on a busy machine. Calls
    /// block for at most this time.
    private static let timeout: UInt64 = 1_000_000

    /// Returns the current environment that the manager gives to the programs it starts (`systemctl --user
    /// show-environment`). A desktop adds its own variables after the login. Returns nil if there is no user manager,
    /// or if it does not answer.
    package func environment() -> [String: String]? {
        guard let address else { return nil }
        // No attempt is made without a socket. A bus that does not use a Unix socket is not a session bus.
        guard BusAddress.socketPaths(address).contains(where: { access($0, R_OK | W_OK) == 0 }) else { return nil }
        var opened: OpaquePointer?
        guard sd_bus_new(&opened) >= 0, let bus = opened else { return nil }
        defer { sd_bus_close_unref(bus) }
        guard sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0, sd_bus_start(bus) >= 0,
            Self.waitUntilReady(bus)
        else { return nil }
        var question: OpaquePointer?
        let made = sd_bus_message_new_method_call(
            bus, &question, "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.DBus.Properties",
            "Get")
        guard made >= 0, let question else { return nil }
        defer { sd_bus_message_unref(question) }
        for word in ["org.freedesktop.systemd1.Manager", "Environment"] {
            guard sd_bus_message_append_basic(question, CChar(UInt8(ascii: "s")), word) >= 0 else { return nil }
        }
        // If the bus was not started by systemd, it must not try to start systemd.
        sd_bus_message_set_auto_start(question, 0)
        var answer: OpaquePointer?
        guard sd_bus_call(bus, question, Self.timeout, nil, &answer) >= 0, let answer else { return nil }
        defer { sd_bus_message_unref(answer) }
        return Self.assignments(answer)
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
