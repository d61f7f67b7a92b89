import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

struct ServiceRunCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run the service in the foreground.",
        discussion: """
            The service runs in this process, and writes its log to standard error. --json affects only the errors of \
            this command.

            Examples:
              nightshift service run
              NIGHTSHIFT_HOME=/tmp/trial nightshift service run
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let launcher = invocation.service.launcher
        let daemon = try launcher.search.requireDaemon()
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(daemon), nil]
        let variables: [UnsafeMutablePointer<CChar>?] =
            launcher.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        execve(daemon, arguments, variables)
        throw CommandFailure.unreachable("\(daemon) could not be run: \(String(cString: strerror(errno)))")
    }
}
