import Foundation
import Glibc
import Logging
import NIOCore
import NightshiftAPI
import NightshiftClient

/// The process of `nightshiftd page`, which runs a ``PageServer``.
package enum PageProcess {
    /// The default time without a visitor after which the page process ends.
    package static let timeout = Duration.seconds(600)

    /// Serves the page until there has been no visitor for `timeout`. Writes a link to standard output, as a
    /// ``PageAddress`` in JSON on one line, and closes standard output.
    ///
    /// A user has one page process. If one runs already, this function writes that process's link and returns. If
    /// `port` is not the port of the running process, this function starts another server.
    ///
    /// - Returns: the exit status.
    package static func run(port: Int, timeout: Duration) async -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        let environment = ProcessInfo.processInfo.environment
        let home = FileManager.default.homeDirectoryForCurrentUser
        let paths = ServicePaths(environment: environment, homeDirectory: home)
        let client = ServiceClient(paths: paths)
        var logger = Logger(label: "nightshift-page") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        let folder = homePath(environment, home)
        let site = PageSite(client: client, downloads: downloads(environment, folder), home: folder)
        let runtime = paths.runtime.path(percentEncoded: false)
        let start = PageStart(directory: runtime)
        do {
            let running = start.runningPage()
            if let running, port == 0 || URL(string: running.url)?.port == port {
                start.finish()
                try handOver(running)
                return 0
            }
            let socket = running == nil && start.isExclusive ? start.socket : nil
            try await PageServer(port: port, timeout: timeout, site: site, linkSocket: socket, logger: logger)
                .run { link in
                    start.finish()
                    try handOver(PageAddress(url: link, processID: getpid()))
                }
            return 0
        } catch let error as IOError where error.errnoCode == EADDRINUSE || error.errnoCode == EACCES {
            let reason = String(cString: strerror(error.errnoCode))
            try? FileHandle.standardError.write(
                contentsOf: Data(
                    "nightshiftd: port \(port) cannot be used: \(reason). Choose another with --port.\n".utf8))
            return 1
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("nightshiftd: the page ended: \(error)\n".utf8))
            return 1
        }
    }

    private static func handOver(_ address: PageAddress) throws {
        try FileHandle.standardOutput.write(contentsOf: try JSON.encode(address) + Data("\n".utf8))
        // The reader of the link sees the end of the output.
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard nowhere >= 0 else { return }
        dup2(nowhere, STDOUT_FILENO)
        close(nowhere)
    }

    private static func homePath(_ environment: [String: String], _ home: URL) -> String {
        let path = (environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }) ?? home.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    private static func downloads(_ environment: [String: String], _ home: String) -> String {
        let configuration =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.config"
        return Setup.downloads(
            userDirectories: try? String(contentsOfFile: configuration + "/user-dirs.dirs", encoding: .utf8),
            home: home)
    }
}
