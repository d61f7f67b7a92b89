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
              nightshift watch big.iso
              nightshift watch 12-20 --json
            """)

    @Argument(
        help: SubjectArgument.taskHelp, completion: DynamicCompletion.tasks.kind, transform: SubjectArgument.parse)
    var tasks: [SubjectArgument] = []

    @Flag(help: "Write JSON to standard output, one object per line.")
    var json = false

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        var followed = FollowedTasks()
        followed.includesNewTasks = tasks.isEmpty
        for id in try await invocation.taskIDs(tasks, json: json) {
            let status = try await invocation.service.task(id)
            followed.add(FollowedTask(id: id, kind: status.kind, name: TaskText.name(status)))
        }
        let result = try await Following(
            invocation: invocation, tasks: followed, reporter: invocation.reporter(json: json, quiet: false)
        ).run()
        if result.tasks.count == 0 && !json { invocation.errors.line("There are no unfinished transfers.") }
        return result.status
    }
}
