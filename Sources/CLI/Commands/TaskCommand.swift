import ArgumentParser

struct TaskCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "task",
        abstract: "Run programs as background work with a bounded time.",
        discussion: """
            Whatever the program does then counts as the background work of an app: it has a time, stands still \
            while the device dozes, and 'nightshift why' and the journal tell of it.

            Examples:
              nightshift task run --name backup -- rsync -a photos/ server:photos/
            """,
        subcommands: [TaskRunCommand.self, TaskExecCommand.self])
}
