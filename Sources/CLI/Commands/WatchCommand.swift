import ArgumentParser
import NightshiftAPI

struct WatchCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Watch transfers until they have ended.",
        discussion: """
            Without numbers: all that have not ended, and those that are added meanwhile. ^C ends the watching, not \
            the transfers. The exit code is 1 when one of them failed.

            Examples:
              nightshift watch
              nightshift watch 12
              nightshift watch 12-20 --json
            """)

    @Argument(
        help: ArgumentHelp("Task numbers, also ranges such as 12-20.", valueName: "id"),
        completion: DynamicCompletion.tasks.kind,
        transform: TaskRange.parse)
    var ranges: [TaskRange] = []

    @Flag(help: "Write JSON, one object to a line, on standard output.")
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
        if result.tasks.count == 0 && !json { invocation.errors.line("Nothing is being transferred.") }
        return result.status
    }
}
