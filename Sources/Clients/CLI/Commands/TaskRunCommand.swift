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
        abstract: "Run a program as background work with a time limit.",
        discussion: """
            The program has the time that an app has for its background tasks. 'nightshift device' shows how much. \
            While the device dozes, the program and its time are paused until the next maintenance window. Under the \
            contiguous policy, it keeps the device awake instead. Shortly before the time is over the program gets \
            SIGTERM, and at the end the service kills it. The program has the terminal as usual: ^C and ^Z go to it.

            In an app, where NIGHTSHIFT_APP is set, the program is a background task of that app. The app is not \
            suspended until the program has ended.

            The program continues if the service stops.

            Exit codes: the exit code of the program; 128 plus the number of the signal that ended it; 124 the service \
            ended it because its time was over; 125 it was not started, because the service refused it or cannot be \
            reached; 126 it cannot be executed; 127 it was not found.

            With --json the last line of standard output is an object with the name, the seconds, and how the program \
            ended. The output of the program itself comes before it.

            Examples:
              nightshift task run -- make release
              nightshift task run --name backup -- rsync -a photos/ server:photos/
            """)

    @Option(help: "The name of the work. The default is the name of the program.")
    var name: String?

    @OptionGroup var format: JSONOption

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after '--'.", valueName: "command"))
    var command: [String] = []

    func validate() throws {
        if command.isEmpty { throw ValidationError("Give the program to run, after '--'.") }
        if command[0].isEmpty { throw ValidationError("The name of the program is empty.") }
        if let name {
            if name.isEmpty { throw ValidationError("--name needs a name.") }
            if name.utf8.count > Limits.backgroundTaskNameLength {
                throw ValidationError("The name must not be longer than \(Limits.backgroundTaskNameLength) bytes.")
            }
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let status = await TaskRun(invocation: invocation, name: name, command: command, isJSON: format.json).run()
        // This command exits with the exit status of the program, which can be any number.
        if let status = ExitStatus(rawValue: status) { return status }
        Glibc.exit(status)
    }
}
