import ArgumentParser
import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

struct TaskRunCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a program as background work with a bounded time.",
        discussion: """
            The program has the time that an app has for its background tasks ('nightshift device' shows how much). \
            While the device dozes it stands still, with its clock, and goes on in the next window; under the \
            contiguous policy it keeps the device awake instead. Shortly before its time is over it gets SIGTERM; when \
            it is over, it is ended. It has the terminal as usual: ^C and ^Z are its own.

            Within an app (NIGHTSHIFT_APP) the program is a background task of that app: the app is not suspended \
            until the program has ended.

            When the service goes away, the program goes on.

            Exit codes: those of the program, and 128 and the signal's number where a signal has ended it; 124 the \
            service has ended it, because its time was over; 125 it was not started, because the service refused it \
            or cannot be reached; 126 it cannot be run; 127 there is no such program.

            With --json the last line on standard output is an object with name, seconds, and how it ended, behind \
            whatever the program has written there.

            Examples:
              nightshift task run -- make release
              nightshift task run --name backup -- rsync -a photos/ server:photos/
            """)

    @Option(help: "What the work is called; the program's name unless given.")
    var name: String?

    @OptionGroup var format: JSONOption

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, behind '--'.", valueName: "command"))
    var command: [String] = []

    func validate() throws {
        if command.isEmpty { throw ValidationError("Say which program to run, behind '--'.") }
        if command[0].isEmpty { throw ValidationError("The program has a name.") }
        if let name {
            if name.isEmpty { throw ValidationError("--name needs a name.") }
            if name.utf8.count > Limits.backgroundTaskNameLength {
                throw ValidationError("The name is longer than \(Limits.backgroundTaskNameLength) bytes.")
            }
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let status = await TaskRun(invocation: invocation, name: name, command: command, isJSON: format.json).run()
        // The program's status is this one's, and may be any.
        if let status = ExitStatus(rawValue: status) { return status }
        Glibc.exit(status)
    }
}
