import Foundation
package import NightshiftAPI

/// Starts the page's program so that it outlives this one, and learns where it waits.
package struct PageLauncher: Sendable {
    package var paths: ServicePaths
    package var search: DaemonSearch
    /// The page's own.
    package var environment: [String: String]

    package init(paths: ServicePaths, search: DaemonSearch, environment: [String: String]) {
        self.paths = paths
        self.search = search
        self.environment = environment
    }

    /// What the page's program, and the one that opens it, say: a short file of a run.
    package var log: String { paths.state.appending(path: "page.log").path(percentEncoded: false) }

    /// Returns as it listens, on a thread that may wait: it does so at once.
    ///
    /// - Parameter port: zero for one that the kernel chooses.
    /// - Throws: ``ServiceUnusable`` where it does not come to that.
    package func start(port: Int) throws -> PageAddress {
        let program = try search.requireDaemon()
        try? FileManager.default.removeItem(atPath: log)
        let output = Pipe()
        _ = try DetachedProcess(
            program: program, arguments: ["page", "--port", String(port)], environment: environment, log: log,
            output: output.fileHandleForWriting.fileDescriptor)
        try? output.fileHandleForWriting.close()
        let words = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        guard let address = try? JSON.decode(PageAddress.self, from: words) else {
            let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw ServiceUnusable(
                message: "The page could not be started. " + (said.isEmpty ? "Its log \(log) is empty." : said))
        }
        return address
    }
}
