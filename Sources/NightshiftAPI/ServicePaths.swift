package import Foundation

/// Where one user's service keeps its things, by the XDG base-directory specification or under `NIGHTSHIFT_HOME`.
package struct ServicePaths: Hashable, Sendable {
    /// The database, partial files and the log; survives reboots.
    package let state: URL
    /// The socket and the lock; on a real machine gone after a reboot.
    package let runtime: URL
    package let configuration: URL
    /// The user's own desktop entries, those of installed apps among them.
    package let applications: URL

    /// The variable by which a client that starts the service says so: the other variables are the client's, not an operator's.
    package static let startedByClient = "NIGHTSHIFT_STARTED_BY_CLIENT"

    package var socket: URL { runtime.appending(path: "nightshift.sock") }
    package var lock: URL { state.appending(path: "lock") }
    package var database: URL { state.appending(path: "nightshift.sqlite") }
    /// Which tasks are under way, for the service that comes after a fault.
    package var starts: URL { state.appending(path: "starts") }
    /// Bytes of unfinished downloads.
    package var partials: URL { state.appending(path: "partials", directoryHint: .isDirectory) }
    /// Finished downloads without a destination, until their owner takes them.
    package var files: URL { state.appending(path: "files", directoryHint: .isDirectory) }
    /// Copies of files to upload, until their uploads have ended.
    package var sources: URL { state.appending(path: "sources", directoryHint: .isDirectory) }
    /// Logs and snapshots of apps.
    package var apps: URL { state.appending(path: "apps", directoryHint: .isDirectory) }
    package var log: URL { state.appending(path: "nightshiftd.log") }

    package init(state: URL, runtime: URL, configuration: URL, applications: URL) {
        self.state = state
        self.runtime = runtime
        self.configuration = configuration
        self.applications = applications
    }

    /// The paths that `environment` says.
    ///
    /// `XDG_RUNTIME_DIR` has no default of its own in the specification: without it the socket stands in the state
    /// directory, which is as private.
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
