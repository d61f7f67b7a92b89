import Foundation

/// The desktop's programs for URLs. They are found with `xdg-open` and `xdg-mime` of xdg-utils.
package struct URLOpener: Sendable {
    private let environment: [String: String]

    /// Creates an opener.
    ///
    /// - Parameter environment: The environment for `xdg-open` and `xdg-mime`, which are searched in its `PATH`.
    package init(environment: [String: String]) {
        self.environment = environment
    }

    /// The time in which `xdg-open` must exit if no program is available. If `xdg-open` runs the program in the same
    /// process, it does not exit, which counts as success.
    private static let timeout = Duration.seconds(3)
    private static let queryTimeout = Duration.seconds(2)

    /// Opens a URL.
    ///
    /// - Parameter log: The file for the output of the program.
    /// - Returns: Whether a program opened the URL.
    package func open(_ url: String, log: String) async throws -> Bool {
        try await run("xdg-open", [url], log: log)
    }

    /// Opens the page of Nightshift, where users set permissions of apps. Its parameter and result are those of
    /// ``open(_:log:)``.
    package func openPage(log: String) async throws -> Bool {
        try await run("nightshift", ["page"], log: log)
    }

    package var hasPage: Bool { program("nightshift") != nil }

    /// Returns whether a program is available for URLs of a scheme. This blocks until `xdg-mime` exits, for at most 2
    /// s.
    package func hasProgram(forScheme scheme: String) -> Bool {
        guard let program = program("xdg-mime") else { return false }
        let type = scheme == "file" ? "inode/directory" : "x-scheme-handler/\(scheme)"
        let output = Pipe()
        let process = try? DetachedProcess(
            program: program, arguments: ["query", "default", type], environment: environment, log: "/dev/null",
            output: output.fileHandleForWriting.fileDescriptor)
        try? output.fileHandleForWriting.close()
        let deadline = ContinuousClock.now + Self.queryTimeout
        while let process, process.exitStatus == nil, ContinuousClock.now < deadline {
            Thread.sleep(forTimeInterval: 0.01)
        }
        guard process?.exitStatus == 0 else { return false }
        // The program has exited, so the read does not block.
        return output.fileHandleForReading.availableData.contains { $0 > 0x20 }
    }

    private func run(_ name: String, _ arguments: [String], log: String) async throws -> Bool {
        guard let program = program(name) else { return false }
        let process = try DetachedProcess(program: program, arguments: arguments, environment: environment, log: log)
        let deadline = ContinuousClock.now + Self.timeout
        while ContinuousClock.now < deadline {
            if let status = process.exitStatus { return status == 0 }
            try await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    private func program(_ name: String) -> String? {
        (environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
