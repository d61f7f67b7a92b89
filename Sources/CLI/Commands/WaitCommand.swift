import ArgumentParser
import NightshiftAPI

struct WaitCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait silently until transfers have ended.",
        discussion: """
            The exit code is 0 if all transfers completed, and 1 otherwise. With --json, the transfers are written at \
            the end.

            Examples:
              nightshift wait 12 && mpv film.mkv
              nightshift wait 12-20 --json
            """)

    @Argument(
        help: ArgumentHelp("Transfer numbers, or ranges such as 12-20.", valueName: "id"),
        completion: DynamicCompletion.tasks.kind,
        transform: TaskRange.parse)
    var ranges: [TaskRange]

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let ids = TaskRange.ids(ranges)
        var tasks = FollowedTasks()
        for id in ids {
            let status = try await invocation.service.task(id)
            tasks.add(FollowedTask(id: id, kind: status.kind, name: TaskText.name(status)))
        }
        let follower = Follower(
            service: invocation.service, reporter: SilentReporter(), tasks: tasks, lastEntry: nil, now: invocation.now)
        try await follower.run()
        if format.json {
            var ended: [TaskStatus] = []
            for id in ids { ended.append(try await invocation.service.task(id)) }
            try invocation.json(TaskPage(tasks: ended, next: nil))
        }
        return await follower.snapshot.failed == 0 ? .whole : .failed
    }
}
