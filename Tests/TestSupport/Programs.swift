import Foundation

/// The programs of this project, which the build puts next to the tests, and the programs of the machine.
package enum Programs {
    package static let daemon = path("nightshiftd")
    package static let commandLine = path("nightshift")
    package static let appProbe = path("app-probe")
    package static let processHostProbe = path("process-host-probe")
    static let resumableUploadServer = path("resumable-upload-server")

    package static let folder =
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

    /// The project's own folder.
    package static let source =
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .path

    private static func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Returns whether the machine has such a program.
    package static func has(_ program: String) -> Bool {
        ["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin"].contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }
}
