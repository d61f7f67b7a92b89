package import Foundation

/// The paths of the directories and files of one user's service. They follow the XDG Base Directory Specification, or
/// are under `NIGHTSHIFT_HOME`.
package struct ServicePaths: Hashable, Sendable {
    /// The directory for the database, partial files and the log. It survives reboots.
    package let state: URL
    /// The directory for the socket. On most systems it is deleted at reboot.
    package let runtime: URL
    package let configuration: URL
    /// The directory for the desktop entries of the user, including those of installed apps.
    package let applications: URL

    /// The name of the variable that a client sets when it starts the service. The variable means that the other
    /// variables belong to the client, and that an administrator did not set them.
    package static let startedByClient = "NIGHTSHIFT_STARTED_BY_CLIENT"

    package var socket: URL { runtime.appending(path: "nightshift.sock") }
    package var lock: URL { state.appending(path: "lock") }
    package var database: URL { state.appending(path: "nightshift.sqlite") }
    /// The path of a file with the running transfers. After a crash, the next run of the service reads this file.
    package var starts: URL { state.appending(path: "starts") }
    /// The directory for the bytes of unfinished downloads.
    package var partials: URL { state.appending(path: "partials", directoryHint: .isDirectory) }
    /// The directory for finished downloads without a destination. The files stay there until their client takes them.
    package var files: URL { state.appending(path: "files", directoryHint: .isDirectory) }
    /// The directory for copies of files to upload, where they stay until their uploads have ended.
    package var sources: URL { state.appending(path: "sources", directoryHint: .isDirectory) }
    /// The directory for logs and snapshots of apps.
    package var apps: URL { state.appending(path: "apps", directoryHint: .isDirectory) }
    package var log: URL { state.appending(path: "nightshiftd.log") }

    package init(state: URL, runtime: URL, configuration: URL, applications: URL) {
        self.state = state
        self.runtime = runtime
        self.configuration = configuration
        self.applications = applications
    }

    /// Derives the paths from `environment`.
    ///
    /// The specification has no default for `XDG_RUNTIME_DIR`. Without this variable, the socket is in the state
    /// directory, which is also private.
    package init(environment: [String: String], homeDirectory: URL) {
        func directory(_ path: String) -> URL {
            URL(filePath: path, directoryHint: .isDirectory)
        }
        func absolute(_ name: String) -> URL? {
            guard let value = environment[name], value.hasPrefix("/") else { return nil }
            return directory(value)
        }
        if let home = environment["NIGHTSHIFT_HOME"], !home.isEmpty {
            let root = URL(filePath: home, directoryHint: .isDirectory).absoluteURL
            self.init(
                state: root.appending(path: "state", directoryHint: .isDirectory),
                runtime: root.appending(path: "run", directoryHint: .isDirectory),
                configuration: root.appending(path: "config", directoryHint: .isDirectory),
                applications: root.appending(path: "data/applications", directoryHint: .isDirectory))
            return
        }
        let home = absolute("HOME") ?? homeDirectory
        let state = (absolute("XDG_STATE_HOME") ?? home.appending(path: ".local/state", directoryHint: .isDirectory))
            .appending(path: "nightshift", directoryHint: .isDirectory)
        self.init(
            state: state,
            runtime: absolute("XDG_RUNTIME_DIR")?.appending(path: "nightshift", directoryHint: .isDirectory) ?? state,
            configuration: (absolute("XDG_CONFIG_HOME") ?? home.appending(path: ".config", directoryHint: .isDirectory))
                .appending(path: "nightshift", directoryHint: .isDirectory),
            applications: (absolute("XDG_DATA_HOME")
                ?? home.appending(path: ".local/share", directoryHint: .isDirectory))
                .appending(path: "applications", directoryHint: .isDirectory))
    }
}
