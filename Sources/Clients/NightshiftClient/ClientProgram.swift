import Foundation
package import NightshiftAPI

/// A launcher of a program that is a client of the service, such as the page. The program outlives this process.
package struct ClientProgram: Sendable {
    /// The subcommand of `nightshiftd`.
    package var name: String
    package var paths: ServicePaths
    package var search: DaemonSearch
    /// The environment variables for the program.
    package var environment: [String: String]

    package init(name: String, launcher: ServiceLauncher) {
        self.name = name
        paths = launcher.paths
        search = launcher.search
        environment = launcher.environment
    }

    /// The path of the log of the program. Each run starts a new short log.
    package var log: String { paths.state.appending(path: "\(name).log").path(percentEncoded: false) }

    /// Starts the program, and returns the address that it writes when it listens. Blocks the thread for a short time.
    ///
    /// - Throws: ``ServiceUnusable`` if the program cannot be started.
    package func start<Address: Decodable>(_ arguments: [String]) throws -> Address {
        let program = try search.requireDaemon()
        try? FileManager.default.removeItem(atPath: log)
        let output = Pipe()
        _ = try DetachedProcess(
            program: program, arguments: [name] + arguments, environment: environment, log: log,
            output: output.fileHandleForWriting.fileDescriptor)
        try? output.fileHandleForWriting.close()
        let words = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        guard let address = try? JSON.decode(Address.self, from: words) else {
            let prefix = "nightshiftd: "
            let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw ServiceUnusable(
                message: said.isEmpty
                    ? "'nightshiftd \(name)' could not be started. Its log \(log) is empty."
                    : said.hasPrefix(prefix) ? String(said.dropFirst(prefix.count)) : said)
        }
        return address
    }
}
