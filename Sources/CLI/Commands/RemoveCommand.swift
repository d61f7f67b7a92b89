import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RemoveCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Forget transfers that have ended.",
        discussion: """
            Finished files stay where they are. A transfer that has not ended is cancelled first, by \
            'nightshift cancel'.

            Examples:
              nightshift remove 12
              nightshift remove --all
            """)

    @OptionGroup var selection: TaskSelection
    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        let ids = try await selection.ids(TaskState.ended, service)
        return try await invocation.act(.remove, ids, json: format.json, verb: "removed")
    }
}
