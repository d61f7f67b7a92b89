import ArgumentParser

struct TaskCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "task",
        abstract: "Run programs as background work with a time limit.",
        discussion: """
            The program counts as background work of an app: it has a time limit, it is paused while the device dozes, \
            and 'nightshift why' and the journal report on it.

            Examples:
              nightshift task run --name backup -- rsync -a photos/ server:photos/
            """,
        subcommands: [TaskRunCommand.self, TaskExecCommand.self])
}
