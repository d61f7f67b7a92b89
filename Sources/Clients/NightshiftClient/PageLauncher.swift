import Foundation
package import NightshiftAPI

/// A launcher that starts the program of the page so that it outlives this program, and reads its address.
package struct PageLauncher: Sendable {
    package var paths: ServicePaths
    package var search: DaemonSearch
    /// The environment variables for the page's program.
    package var environment: [String: String]

    package init(paths: ServicePaths, search: DaemonSearch, environment: [String: String]) {
        self.paths = paths
        self.search = search
        self.environment = environment
    }

    /// The path of the log of the page and of the program that opens it. Each run starts a new short log.
    package var log: String { paths.state.appending(path: "page.log").path(percentEncoded: false) }

    /// Starts the page, and returns when it listens. Blocks the thread for a short time.
    ///
    /// - Parameter port: The port; 0 for a port that the kernel chooses.
    /// - Throws: ``ServiceUnusable`` if the page cannot be started.
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
