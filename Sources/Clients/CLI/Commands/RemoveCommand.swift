import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RemoveCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove transfers that have ended from the list.",
        discussion: """
            Complete files stay where they are. To remove a transfer that has not ended, cancel it first with \
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
