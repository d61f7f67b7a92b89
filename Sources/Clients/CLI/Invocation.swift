package import Foundation
import NightshiftAPI
import NightshiftClient

/// The environment of a command as one value, so that tests can replace all of it.
package struct Invocation: Sendable {
    /// The arguments without the program's name.
    package var arguments: [String]
    package var environment: [String: String]
    /// The directory where relative paths start.
    var directory: WorkingDirectory
    package var homeDirectory: String
    /// The path of this program.
    package var executable: String
    package var output: Output
    package var errors: Output
    package var timeZone: TimeZone
    /// The umask in octal digits. If it is nil, the service applies its own umask to new files.
    package var umask: String?
    package var now: @Sendable () -> Date
    /// Asks the user a yes-or-no question on the terminal and returns whether the answer is yes, or nil if there is no
    /// terminal.
    package var confirm: @Sendable (_ question: String) -> Bool? = { _ in nil }
    /// The maximum time that a completion waits for the service. It is short because the user is waiting at the prompt.
    package var completionTimeout: Duration = .seconds(1)
    /// A sentence that says why an argument or a variable cannot be used, or nil if all can be used.
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

    /// Returns an invocation with the environment and the arguments of this process.
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

    /// Throws an error if an argument or a variable of this process cannot be used.
    func check() throws {
        if let mistake { throw CommandFailure.usage(mistake) }
        if let home = environment["NIGHTSHIFT_HOME"], !home.isEmpty { _ = try absolute(home) }
    }

    /// Returns the umask from `/proc`, or nil if `/proc` is not available. umask(2) can only return the umask by
    /// changing it.
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

    /// The value of `NIGHTSHIFT_HOME` as an absolute path. ``check()`` has verified that the value can be made
    /// absolute.
    private var home: String? {
        environment["NIGHTSHIFT_HOME"].flatMap { $0.isEmpty ? nil : (try? absolute($0)) ?? $0 }
    }

    var times: TimeText {
        TimeText(now: now(), timeZone: timeZone)
    }

    /// Returns an absolute path for a path that is relative to the current directory. It has no `.` and `..`.
    func absolute(_ path: String) throws -> String {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        return try PhysicalPath.resolved(isAbsolute ? path : directory.resolved() + "/" + path)
    }

    /// Writes a JSON document to standard output. With `--json` this document is the complete output of a command.
    func json(_ value: some Encodable) throws {
        output.write(try JSON.encode(value) + Data("\n".utf8))
    }
}
