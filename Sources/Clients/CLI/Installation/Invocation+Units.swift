import Foundation
import NightshiftAPI
import NightshiftClient

extension Invocation {
    var userManager: UserManager { UserManager(environment: environment) }

    /// Whether systemd would start the service on a connection. This applies only to the user's default home. A running
    /// service holds the lock; in that case systemd is not asked.
    var systemdListens: Bool {
        service.launcher.location.holder == nil && hasDefaultHome && userManager.listens()
    }

    /// Returns whether the service is running, without starting it.
    ///
    /// - Throws: ``ServiceUnusable`` if another user owns the socket.
    func serviceRuns() throws -> Bool {
        try !systemdListens && service.launcher.isRunning()
    }

    /// Whether the service uses the user's default directories. The units work only for those.
    var hasDefaultHome: Bool { (environment["NIGHTSHIFT_HOME"] ?? "").isEmpty }

    /// The directory of the units that the user has written or copied (systemd.unit(5), "Unit File Load Path"). These
    /// units hide those of ``installedUnits``.
    var unitDirectory: URL {
        directory("XDG_CONFIG_HOME", "/.config")
    }

    /// The directory of units that were installed with this service's program; nil if no such units exist. Upgrades replace
    /// these units.
    var installedUnits: URL? {
        guard let daemon = service.launcher.search.daemon else { return nil }
        let directories =
            ["/etc/systemd/user"].map { URL(filePath: $0, directoryHint: .isDirectory) }
            + [directory("XDG_DATA_HOME", "/.local/share")]
            + ["/usr/local/share", "/usr/share", "/usr/local/lib", "/usr/lib"].map {
                URL(filePath: $0 + "/systemd/user", directoryHint: .isDirectory)
            }
        return UnitFiles.directory(of: directories, daemon: daemon)
    }

    /// The files in ``unitDirectory`` that have the names of the service's units.
    var copiedUnits: [URL] {
        [UserManager.service, UserManager.socket].map { unitDirectory.appending(path: $0) }
            .filter { FileManager.default.fileExists(atPath: $0.path(percentEncoded: false)) }
    }

    private func directory(_ variable: String, _ path: String) -> URL {
        let base =
            environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? (environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? homeDirectory) + path
        return URL(filePath: base, directoryHint: .isDirectory).appending(
            path: "systemd/user", directoryHint: .isDirectory)
    }

    /// Throws an error if this is not the user's default home. The units work only for that home.
    func requireDefaultHome() throws {
        guard hasDefaultHome else {
            throw CommandFailure.usage(
                "NIGHTSHIFT_HOME is set, but the systemd units work only for the default home. "
                    + "Unset it, or start this service with 'nightshift service start'.")
        }
    }
}
