import Foundation
import Glibc
import Logging
import NIOCore
import NightshiftAPI
import NightshiftClient

/// The process around a ``PageServer``: what `nightshiftd page` is.
package enum PageProcess {
    /// How long the page waits for a visitor unless somebody says otherwise.
    package static let patience = Duration.seconds(600)

    /// Serves until nobody has looked for a while. Writes the link to standard output, as ``PageAddress`` in JSON on one
    /// line, and closes that.
    ///
    /// - Returns: the exit status.
    package static func run(port: Int, patience: Duration) async -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        let environment = ProcessInfo.processInfo.environment
        let home = FileManager.default.homeDirectoryForCurrentUser
        let paths = ServicePaths(environment: environment, homeDirectory: home)
        let client = ServiceClient(paths: paths)
        var logger = Logger(label: "nightshift-page") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        let site = PageSite(client: client, downloads: downloads(environment, home))
        do {
            try await PageServer(port: port, patience: patience, site: site, logger: logger).run { link in
                try handOver(PageAddress(url: link, processID: getpid()))
            }
            return 0
        } catch let error as IOError where error.errnoCode == EADDRINUSE || error.errnoCode == EACCES {
            let reason = String(cString: strerror(error.errnoCode))
            try? FileHandle.standardError.write(
                contentsOf: Data("nightshiftd: port \(port) cannot be used: \(reason)\n".utf8))
            return 1
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("nightshiftd: the page ended: \(error)\n".utf8))
            return 1
        }
    }

    private static func handOver(_ address: PageAddress) throws {
        try FileHandle.standardOutput.write(contentsOf: try JSON.encode(address) + Data("\n".utf8))
        // Whoever reads it is told that nothing follows.
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard nowhere >= 0 else { return }
        dup2(nowhere, STDOUT_FILENO)
        close(nowhere)
    }

    private static func downloads(_ environment: [String: String], _ home: URL) -> String {
        let homePath =
            (environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }) ?? home.path(percentEncoded: false)
        let plain = homePath.count > 1 && homePath.hasSuffix("/") ? String(homePath.dropLast()) : homePath
        let configuration =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? plain + "/.config"
        return Setup.downloads(
            userDirectories: try? String(contentsOfFile: configuration + "/user-dirs.dirs", encoding: .utf8),
            home: plain)
    }
}
