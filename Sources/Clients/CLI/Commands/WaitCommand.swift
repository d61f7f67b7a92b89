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
              nightshift wait film.mkv
            """)

    @Argument(
        help: SubjectArgument.taskHelp, completion: DynamicCompletion.tasks.kind, transform: SubjectArgument.parse)
    var tasks: [SubjectArgument]

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let ids = try await invocation.taskIDs(tasks, json: format.json)
        var followed = FollowedTasks()
        for id in ids {
            let status = try await invocation.service.task(id)
            followed.add(FollowedTask(id: id, kind: status.kind, name: TaskText.name(status)))
        }
        let follower = Follower(
            service: invocation.service, reporter: SilentReporter(), tasks: followed, lastEntry: nil,
            now: invocation.now)
        try await follower.run()
        if format.json {
            var ended: [TaskStatus] = []
            for id in ids { ended.append(try await invocation.service.task(id)) }
            try invocation.json(TaskPage(tasks: ended, next: nil))
        }
        return await follower.snapshot.failed == 0 ? .whole : .failed
    }
}
