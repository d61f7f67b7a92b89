import Foundation
import Glibc
import NightshiftAPI
package import Store

/// The environment of launched processes. It is the environment of the login session, not that of the shell that
/// started the service.
///
/// Documented in docs/apps.md.
package struct AppEnvironment: Sendable {
    /// The environment of the service.
    package var service: [String: String]
    /// The environment that the systemd user manager gives to the programs that it starts; nil if no user manager
    /// answers.
    package var session: [String: String]?
    package var account: Account?
    package var homeDirectory: String

    /// The entry of a user in the system's user database.
    package struct Account: Hashable, Sendable {
        package var name: String
        package var shell: String

        package init(name: String, shell: String) {
            self.name = name
            self.shell = shell
        }
    }

    package init(service: [String: String], session: [String: String]?, account: Account?, homeDirectory: String) {
        self.service = service
        self.session = session
        self.account = account
        self.homeDirectory = homeDirectory
    }

    /// The default `PATH`. It is systemd's default for user services.
    package static let defaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"

    package var variables: [String: String] {
        var variables = (session ?? service).filter { session != nil || Self.isOfSession($0.key) }
        for name in variables.keys where Self.isOfOneProcess(name) || name.hasPrefix("NIGHTSHIFT_") {
            variables[name] = nil
        }
        variables["PATH"] = path
        variables["HOME"] = service["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? homeDirectory
        variables["USER"] = account?.name ?? variables["USER"]
        variables["LOGNAME"] = account?.name ?? variables["LOGNAME"]
        variables["SHELL"] = account?.shell ?? variables["SHELL"]
        // The library finds the service through these variables. It also passes them to the service when it starts it.
        for name in Self.ofPaths {
            // A service started by cron has no runtime directory, but the session has one. The library then finds the
            // service through its lock.
            if name == "XDG_RUNTIME_DIR", service[name] == nil { continue }
            variables[name] = service[name]
        }
        for (name, value) in service where name.hasPrefix("NIGHTSHIFT_") && !Self.ofLaunch.contains(name) {
            variables[name] = value
        }
        return variables
    }

    /// Returns the variables that describe the wakes for which a program is started.
    ///
    /// - Parameter declaredLimit: the limit in seconds from the app's entry, for sources that have no limit of their
    ///   own.
    package static func wakeVariables(_ wakes: [WantedWake], declaredLimit: Double) -> [String: String] {
        guard !wakes.isEmpty else { return [:] }
        var variables = ["NIGHTSHIFT_WAKE": Set(wakes.map(\.reason.rawValue)).sorted().joined(separator: ",")]
        let limits = wakes.map { $0.source.limit(declared: declaredLimit) }
        // If one wake has no limit, the process has no limit either.
        if !limits.contains(nil), let limit = limits.compactMap(\.self).max() {
            variables["NIGHTSHIFT_WAKE_LIMIT"] = String(Int(saturating: limit))
        }
        let sessions = wakes.filter { $0.source == .session }.map(\.key)
        if !sessions.isEmpty { variables["NIGHTSHIFT_SESSION"] = sessions.joined(separator: "\n") }
        // A fetch that is not a scheduled task has no identifier.
        let tasks = wakes.filter { $0.source.rules.handover == .identifiers && !$0.key.isEmpty }.map(\.key)
        if !tasks.isEmpty { variables["NIGHTSHIFT_TASK"] = tasks.joined(separator: "\n") }
        return variables
    }

    /// The `PATH` without relative folders. Programs must not depend on the shell's working directory.
    private var path: String {
        let folders = (session?["PATH"] ?? service["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        return folders.isEmpty ? Self.defaultPath : folders.joined(separator: ":")
    }

    // MARK: - Names

    /// Whether a variable belongs to the login session or the desktop, and was not set in a shell.
    static func isOfSession(_ name: String) -> Bool {
        login.contains(name) || desktop.contains(name) || proxies.contains(name.lowercased())
            || name.hasPrefix("LC_") || name.hasPrefix("XDG_")
    }

    private static let login: Set = [
        "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR",
    ]
    private static let desktop: Set = [
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
        "DESKTOP_SESSION", "XMODIFIERS", "GTK_IM_MODULE", "QT_IM_MODULE", "GDK_BACKEND", "QT_QPA_PLATFORM",
        "PULSE_SERVER",
    ]
    /// Proxy variables. Some networks can be used only through a proxy.
    private static let proxies: Set = ["http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy"]

    /// Whether a variable is meant for one process only and must not be passed on.
    private static func isOfOneProcess(_ name: String) -> Bool { ofOneProcess.contains(name) }

    /// Variables of systemd.exec(5), sd_notify(3) and sd_listen_fds(3), and the desktop's tokens for one launch.
    private static let ofOneProcess: Set = [
        "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "FDSTORE",
        "MAINPID", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "MEMORY_PRESSURE_WATCH",
        "MEMORY_PRESSURE_WRITE", "XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID",
    ]

    /// Variables by which the service and the library find each other.
    private static let ofPaths = ["XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]

    /// Variables of one launch. If an app started the service, the service must not pass on the variables of that app's
    /// launch.
    private static let ofLaunch: Set = [
        "NIGHTSHIFT_APP", "NIGHTSHIFT_LAUNCH", "NIGHTSHIFT_SOCKET", "NIGHTSHIFT_WAKE", "NIGHTSHIFT_SESSION",
        "NIGHTSHIFT_WAKE_LIMIT", "NIGHTSHIFT_TASK", "NIGHTSHIFT_PAYLOAD", ServicePaths.startedByClient,
    ]
}

extension AppEnvironment.Account {
    /// The user of this process; nil if the user database has no entry.
    package static let current: AppEnvironment.Account? = {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        guard getpwuid_r(getuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil,
            let name = entry.pw_name, let shell = entry.pw_shell
        else { return nil }
        let path = String(cString: shell)
        return AppEnvironment.Account(name: String(cString: name), shell: path.isEmpty ? "/bin/sh" : path)
    }()
}
