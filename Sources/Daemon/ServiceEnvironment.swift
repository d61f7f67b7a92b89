import Foundation
import Glibc

/// The environment that the service was started with, which is that of the client that needed it first.
///
/// Libraries read variables of the process by themselves: libcurl proxies and where to write TLS keys, OpenSSL its
/// configuration and certificates, the resolver its options and aliases, Kerberos credentials, SQLite and Foundation where temporary
/// files go. What one caller has set would govern the requests of all others. The process therefore keeps the few variables of
/// ``isKept(_:)`` and none that a library may come to read. What the service itself needs it takes from ``atStart``, once.
package enum ServiceEnvironment {
    /// All variables, as they were when the process was started.
    package static let atStart = ProcessInfo.processInfo.environment

    /// Removes from this process what libraries may read. To be called before anything else runs.
    package static func clear() {
        for name in atStart.keys where !isKept(name) { unsetenv(name) }
    }

    /// Whether a variable stays: the user's account and directories, the language and the clock's zone, the buses and screens of the
    /// session, what systemd says to the service, and what the loader and the runtime have read before.
    package static func isKept(_ name: String) -> Bool {
        kept.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }

    private static let kept: Set = [
        "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "TZ", "TZDIR", "DISPLAY", "WAYLAND_DISPLAY",
        "XAUTHORITY", "NOTIFY_SOCKET", "JOURNAL_STREAM", "INVOCATION_ID", "MANAGERPID", "SYSTEMD_EXEC_PID",
    ]
    private static let prefixes = [
        "NIGHTSHIFT_", "XDG_", "DBUS_", "LC_", "LISTEN_", "WATCHDOG_", "MEMORY_PRESSURE_", "LD_", "LIBDISPATCH_",
        "SWIFT_",
        // Of the libraries that tests load before all others.
        "FAKETIME", "FIU_",
    ]
}
