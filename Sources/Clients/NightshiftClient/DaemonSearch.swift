import Foundation

/// The search for `nightshiftd`: in the directory of this program, in the `libexec` directory of its installation, and
/// in the search path.
package struct DaemonSearch: Sendable {
    /// The path of this program's file.
    package var executable: String
    /// The value of `PATH`.
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
        // Only absolute entries are used, because a relative entry would name a different program in each directory.
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
