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
        let folder = UserDirectories.home(environment: environment, home: home)
        let site = PageSite(
            client: client, downloads: UserDirectories.downloads(environment: environment, home: home), home: folder)
        let runtime = paths.runtime.path(percentEncoded: false)
        let start = PageStart(directory: runtime)
        do {
            let running = start.runningPage()
            if let running, port == 0 || URL(string: running.url)?.port == port {
                start.finish()
                try AddressOutput.write(running)
                return 0
            }
            let socket = running == nil && start.isExclusive ? start.socket : nil
            try await PageServer(port: port, timeout: timeout, site: site, linkSocket: socket, logger: logger)
                .run { link in
                    start.finish()
                    try AddressOutput.write(PageAddress(url: link, processID: getpid()))
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
}
