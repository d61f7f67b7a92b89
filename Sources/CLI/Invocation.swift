package import Foundation
import NightshiftAPI
import NightshiftClient

/// Everything a command knows of the world around it: one value, so that tests can make up a world.
package struct Invocation: Sendable {
    /// Without the program's name.
    package var arguments: [String]
    package var environment: [String: String]
    /// The current directory, absolute.
    package var directory: String
    package var homeDirectory: String
    /// This program's own file.
    package var executable: String
    package var output: Output
    package var errors: Output
    package var timeZone: TimeZone
    /// In octal digits; nil leaves new files to the umask of the service.
    package var umask: String?
    package var now: @Sendable () -> Date

    package init(
        arguments: [String], environment: [String: String], directory: String, homeDirectory: String,
        executable: String, output: Output, errors: Output, timeZone: TimeZone, umask: String? = nil,
        now: @escaping @Sendable () -> Date
    ) {
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
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
        return Invocation(
            arguments: Array(CommandLine.arguments.dropFirst()),
            environment: environment,
            directory: FileManager.default.currentDirectoryPath,
            homeDirectory: FileManager.default.homeDirectoryForCurrentUser.path(percentEncoded: false),
            executable: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
                ?? CommandLine.arguments.first ?? "nightshift",
            output: Output(descriptor: 1, environment: environment),
            errors: Output(descriptor: 2, environment: environment),
            timeZone: .current,
            umask: umaskOfThisProcess(),
            now: { Date() })
    }

    /// Read from `/proc`, since umask(2) tells it only by changing it; nil where that is not there.
    private static func umaskOfThisProcess() -> String? {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        return line.map { $0.dropFirst(6).trimmingCharacters(in: .whitespaces) }
    }

    var paths: ServicePaths {
        var environment = environment
        if let home = environment["NIGHTSHIFT_HOME"], !home.isEmpty { environment["NIGHTSHIFT_HOME"] = absolute(home) }
        return ServicePaths(
            environment: environment, homeDirectory: URL(filePath: homeDirectory, directoryHint: .isDirectory))
    }

    var service: Service {
        var client = ServiceClient(socket: paths.socket.path(percentEncoded: false))
        client.onUnreadable = { [errors] parts in
            for part in parts { errors.line("nightshift: \(TerminalText.escaped(part.sentence))") }
        }
        return Service(
            client: client,
            launcher: ServiceLauncher(
                paths: paths,
                search: DaemonSearch(executable: executable, searchPath: environment["PATH"] ?? ""),
                environment: environment.merging(
                    environment["NIGHTSHIFT_HOME"].map { ["NIGHTSHIFT_HOME": absolute($0)] } ?? [:]
                ) { $1 }))
    }

    var times: TimeText {
        TimeText(now: now(), timeZone: timeZone)
    }

    /// `path` as it is meant from the current directory, without `.` and `..`.
    func absolute(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : directory + "/" + path
        let standard = URL(filePath: whole).standardizedFileURL.path(percentEncoded: false)
        return standard.count > 1 && standard.hasSuffix("/") ? String(standard.dropLast()) : standard
    }

    /// A document on standard output: the whole of what `--json` promises.
    func json(_ value: some Encodable) throws {
        output.write(try JSON.encode(value) + Data("\n".utf8))
    }
}
