import ArgumentParser
import NightshiftAPI

struct WatchCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Watch transfers until they have ended.",
        discussion: """
            Without numbers, all transfers that have not ended are shown, and those that are added later. ^C ends this \
            command, not the transfers. The exit code is 1 if a transfer failed.

            Examples:
              nightshift watch
              nightshift watch 12
              nightshift watch 12-20 --json
            """)

    @Argument(
        help: ArgumentHelp("Transfer numbers, or ranges such as 12-20.", valueName: "id"),
        completion: DynamicCompletion.tasks.kind,
        transform: TaskRange.parse)
    var ranges: [TaskRange] = []

    @Flag(help: "Write JSON to standard output, one object per line.")
    var json = false

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        var tasks = FollowedTasks()
        tasks.includesNewTasks = ranges.isEmpty
        for id in TaskRange.ids(ranges) {
            let status = try await invocation.service.task(id)
            tasks.add(FollowedTask(id: id, kind: status.kind, name: TaskText.name(status)))
        }
        let result = try await Following(
            invocation: invocation, tasks: tasks, reporter: invocation.reporter(json: json, quiet: false)
        ).run()
        if result.tasks.count == 0 && !json { invocation.errors.line("There are no unfinished transfers.") }
        return result.status
    }
}
