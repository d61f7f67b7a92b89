import Foundation
import Glibc

/// The environment with which the service was started. If a client started the service, it is the environment of that
/// client.
///
/// Libraries read variables of the process themselves: libcurl reads proxies and the file for TLS keys, OpenSSL its
/// configuration and certificates, the resolver its options and aliases, Kerberos its credentials, SQLite and
/// Foundation the directory for temporary files. Variables of one client would affect the requests of all others. The
/// process therefore keeps only the few variables for which ``isKept(_:)`` is true, and no variable that a library
/// could read later. The service itself reads its variables once, from ``atStart``.
package enum ServiceEnvironment {
    /// All variables at the start of the process.
    package static let atStart = ProcessInfo.processInfo.environment

    /// Removes variables that libraries may read from this process. It must be called before anything else runs.
    package static func clear() {
        for name in atStart.keys where !isKept(name) { unsetenv(name) }
    }

    /// Returns whether a variable is kept. The service keeps the variables of the user's account and directories, of
    /// language and time zone, of the buses and screens of the session, of systemd, and those that the loader and the
    /// runtime have already read.
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
        // Libraries that tests preload read these variables.
        "FAKETIME", "FIU_",
    ]
}
