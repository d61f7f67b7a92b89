import ArgumentParser
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The process that ``TaskRunCommand`` starts. With this process, the service manages the program from its first
/// instruction on.
///
/// The process id stays the same when the process executes the program.
struct TaskExecCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Execute a program when a byte arrives.",
        discussion: """
            Only 'nightshift task run' uses this command. It waits for a byte on the descriptor, and then executes the \
            program. If the descriptor is closed first, the command exits.

            Examples:
              nightshift task exec 5 /bin/echo -- echo hello
            """,
        shouldDisplay: false)

    @Argument(help: "The descriptor of a pipe.")
    var gate: Int32

    @Argument(help: "The path of the program.")
    var program: String

    @Argument(parsing: .postTerminator, help: "The arguments of the program, with its name first.")
    var arguments: [String]

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        guard isOpened() else { return .whole }
        // Like a shell, execvp also runs scripts that have no interpreter line.
        let words = arguments.map { strdup($0) } + [nil]
        StopSignals.admit()
        execvp(program, words)
        let reason = errno
        invocation.errors.line("nightshift: \(program) cannot be executed: \(String(cString: strerror(reason))).")
        Glibc.exit(reason == ENOENT ? TaskRun.notFound : TaskRun.notRunnable)
    }

    private func isOpened() -> Bool {
        var byte: UInt8 = 0
        while true {
            let count = read(gate, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            close(gate)
            return count == 1
        }
    }
}
