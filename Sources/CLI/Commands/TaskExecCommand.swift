import ArgumentParser
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What ``TaskRunCommand`` starts: a process that the service can take charge of before the program's first instruction.
///
/// The process keeps its number when it becomes the program.
struct TaskExecCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Become a program when told to.",
        discussion: """
            For 'nightshift task run' alone. Waits for a byte on the descriptor; without one, it ends.

            Examples:
              nightshift task exec 5 /bin/echo -- echo hello
            """,
        shouldDisplay: false)

    @Argument(help: "The descriptor of a pipe.")
    var gate: Int32

    @Argument(help: "The program's file.")
    var program: String

    @Argument(parsing: .postTerminator, help: "What the program is called with, its own name first.")
    var arguments: [String]

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        guard isOpened() else { return .whole }
        // As a shell does, also for a script that does not say what reads it.
        let words = arguments.map { strdup($0) } + [nil]
        StopSignals.admit()
        execvp(program, words)
        let reason = errno
        invocation.errors.line("nightshift: \(program) cannot be run: \(String(cString: strerror(reason)))")
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
