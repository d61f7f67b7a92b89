import CSystemd
import Foundation
import Glibc
import NightshiftAPI

/// The systemd of the user's session, where there is one.
package struct SessionManager: Sendable {
    private let address: String?

    /// - Parameter environment: says where the session's bus is.
    package init(environment: [String: String]) {
        address =
            environment["DBUS_SESSION_BUS_ADDRESS"]
            ?? environment["XDG_RUNTIME_DIR"].map { "unix:path=\($0)/bus" }
    }

    /// Longer than a manager that works needs, on a machine that is busy; blocks at most as long.
    private static let patience: UInt64 = 1_000_000

    /// What it gives to what it starts (`systemctl --user show-environment`), as of now: a desktop adds its own after the
    /// login. Nil where there is no such manager, or it does not answer.
    package func environment() -> [String: String]? {
        guard let address else { return nil }
        // Without a socket, connecting takes no time at all; a bus elsewhere is no session's.
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
        // A bus without systemd is not to try to start one.
        sd_bus_message_set_auto_start(question, 0)
        var answer: OpaquePointer?
        guard sd_bus_call(bus, question, Self.patience, nil, &answer) >= 0, let answer else { return nil }
        defer { sd_bus_message_unref(answer) }
        return Self.assignments(answer)
    }

    /// By itself, sd-bus would wait for a bus that does not answer for a minute and a half.
    private static func waitUntilReady(_ bus: OpaquePointer) -> Bool {
        let end = ContinuousClock.now + .microseconds(Int64(patience))
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
