package import Foundation
import NightshiftAPI
import NightshiftClient

/// Everything a command knows of the world around it: one value, so that tests can make up a world.
package struct Invocation: Sendable {
    /// Without the program's name.
    package var arguments: [String]
    package var environment: [String: String]
    /// Where relative paths start.
    var directory: WorkingDirectory
    package var homeDirectory: String
    /// This program's own file.
    package var executable: String
    package var output: Output
    package var errors: Output
    package var timeZone: TimeZone
    /// In octal digits; nil leaves new files to the umask of the service.
    package var umask: String?
    package var now: @Sendable () -> Date
    /// Asks the person at the terminal, yes or no; nil without a terminal.
    package var confirm: @Sendable (_ question: String) -> Bool? = { _ in nil }
    /// How long a shell that completes a word waits for the service: a person waits at the prompt.
    package var completionTimeout: Duration = .seconds(1)
    /// A sentence about an argument or a variable that cannot be used as it is.
    var mistake: String?

    package init(
        arguments: [String], environment: [String: String], directory: String, homeDirectory: String,
        executable: String, output: Output, errors: Output, timeZone: TimeZone, umask: String? = nil,
        now: @escaping @Sendable () -> Date
    ) {
        self.arguments = arguments
        self.environment = environment
        self.directory = .path(directory)
        self.homeDirectory = homeDirectory
        self.executable = executable
        self.output = output
        self.errors = errors
        self.timeZone = timeZone
        self.umask = umask
        self.now = now
    }

    /// The world of this process.
    package static func ofThisProcess() -> Invocation {
        let environment = ProcessInfo.processInfo.environment
        let arguments = ArgumentBytes(ArgumentBytes.ofThisProcess)
        var invocation = Invocation(
            arguments: arguments.words,
            environment: environment,
            directory: "/",
            homeDirectory: FileManager.default.homeDirectoryForCurrentUser.path(percentEncoded: false),
            executable: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
                ?? CommandLine.arguments.first ?? "nightshift",
            output: Output(descriptor: 1, environment: environment),
            errors: Output(descriptor: 2, environment: environment),
            timeZone: .current,
            umask: umaskOfThisProcess(),
            now: { Date() })
        invocation.directory = .ofThisProcess
        invocation.confirm = { [errors = invocation.errors] in Confirmation.ask($0, errors: errors) }
        invocation.mistake = arguments.mistake ?? OwnEnvironment.mistake
        return invocation
    }

    /// Throws where this process was given something that it cannot use.
    func check() throws {
        if let mistake { throw CommandFailure.usage(mistake) }
        if let home = environment["NIGHTSHIFT_HOME"], !home.isEmpty { _ = try absolute(home) }
    }

    /// Read from `/proc`, since umask(2) tells it only by changing it; nil where that is not there.
    private static func umaskOfThisProcess() -> String? {
        let status = KernelFile.text("/proc/self/status") ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        return line.map { $0.dropFirst(6).trimmingCharacters(in: .whitespaces) }
    }

    var paths: ServicePaths {
        var environment = environment
        if let home { environment["NIGHTSHIFT_HOME"] = home }
        return ServicePaths(
            environment: environment, homeDirectory: URL(filePath: homeDirectory, directoryHint: .isDirectory))
    }

    var service: Service {
        var client = ServiceClient(paths: paths)
        client.onUnreadable = { [errors] parts in
            for part in parts { errors.line("nightshift: \(TerminalText.escaped(part.sentence))") }
        }
        return Service(
            client: client,
            launcher: ServiceLauncher(
                paths: paths,
                search: DaemonSearch(executable: executable, searchPath: environment["PATH"] ?? ""),
                environment: environment.merging(home.map { ["NIGHTSHIFT_HOME": $0] } ?? [:]) { $1 }))
    }

    /// `NIGHTSHIFT_HOME` as an absolute path; ``check()`` has found that there is one.
    private var home: String? {
        environment["NIGHTSHIFT_HOME"].flatMap { $0.isEmpty ? nil : (try? absolute($0)) ?? $0 }
    }

    var times: TimeText {
        TimeText(now: now(), timeZone: timeZone)
    }

    /// The path as it is meant from the current directory, without `.` and `..`.
    func absolute(_ path: String) throws -> String {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        return try PhysicalPath.resolved(isAbsolute ? path : directory.resolved() + "/" + path)
    }

    /// A document on standard output: the whole of what `--json` promises.
    func json(_ value: some Encodable) throws {
        output.write(try JSON.encode(value) + Data("\n".utf8))
    }
}
