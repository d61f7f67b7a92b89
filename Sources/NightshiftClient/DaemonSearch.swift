import Foundation

/// Where `nightshiftd` may be: beside this program, in its installation's `libexec`, or in the search path.
package struct DaemonSearch: Sendable {
    /// This program's own file.
    package var executable: String
    /// `PATH`.
    package var searchPath: String

    package init(executable: String, searchPath: String) {
        self.executable = executable
        self.searchPath = searchPath
    }

    package var candidates: [String] {
        let folder = URL(filePath: executable).deletingLastPathComponent()
        let near = [
            folder.appending(path: "nightshiftd"),
            folder.deletingLastPathComponent().appending(path: "libexec/nightshift/nightshiftd"),
        ].map { $0.path(percentEncoded: false) }
        // A relative entry would name another program in every directory.
        let far = searchPath.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/nightshiftd" }
        return near + far
    }

    package var daemon: String? {
        candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    package func requireDaemon() throws -> String {
        guard let daemon else {
            throw ServiceUnusable(
                message: "The service program nightshiftd was not found. Searched:\n  "
                    + candidates.joined(separator: "\n  "))
        }
        return daemon
    }
}
