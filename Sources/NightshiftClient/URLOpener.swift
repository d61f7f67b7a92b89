import Foundation

/// The desktop's programs for URLs, by `xdg-open` and `xdg-mime` of xdg-utils.
package struct URLOpener: Sendable {
    private let environment: [String: String]

    /// - Parameter environment: of the programs; they are looked for in its `PATH`.
    package init(environment: [String: String]) {
        self.environment = environment
    }

    /// How long `xdg-open` may take to say that there is no program. Where it turns into the program itself, it says nothing.
    private static let patience = Duration.seconds(3)
    private static let queryPatience = Duration.seconds(2)

    /// Opens a URL.
    ///
    /// - Parameter log: the file that the program's words go to.
    /// - Returns: false where no program has opened it.
    package func open(_ url: String, log: String) async throws -> Bool {
        try await run("xdg-open", [url], log: log)
    }

    /// Opens the page of Nightshift, where the user says what apps may do. As ``open(_:log:)``.
    package func openPage(log: String) async throws -> Bool {
        try await run("nightshift", ["page"], log: log)
    }

    package var hasPage: Bool { program("nightshift") != nil }

    /// Whether some program is there for URLs of a scheme. Blocks for as long as `xdg-mime` takes to say so, 2 s at most.
    package func hasProgram(forScheme scheme: String) -> Bool {
        guard let program = program("xdg-mime") else { return false }
        let type = scheme == "file" ? "inode/directory" : "x-scheme-handler/\(scheme)"
        let output = Pipe()
        let process = try? DetachedProcess(
            program: program, arguments: ["query", "default", type], environment: environment, log: "/dev/null",
            output: output.fileHandleForWriting.fileDescriptor)
        try? output.fileHandleForWriting.close()
        let deadline = ContinuousClock.now + Self.queryPatience
        while let process, process.exitStatus == nil, ContinuousClock.now < deadline {
            Thread.sleep(forTimeInterval: 0.01)
        }
        guard process?.exitStatus == 0 else { return false }
        // It has ended, so its end of the pipe is closed.
        return output.fileHandleForReading.availableData.contains { $0 > 0x20 }
    }

    private func run(_ name: String, _ arguments: [String], log: String) async throws -> Bool {
        guard let program = program(name) else { return false }
        let process = try DetachedProcess(program: program, arguments: arguments, environment: environment, log: log)
        let deadline = ContinuousClock.now + Self.patience
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
