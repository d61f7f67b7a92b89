import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct PauseCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Hold transfers until they are resumed.",
        discussion: """
            The bytes that are here stay here; no time limit runs meanwhile.

            Examples:
              nightshift pause 12
              nightshift pause --all
            """)

    @OptionGroup var selection: TaskSelection
    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        let ids = try await selection.ids([.waiting, .running], service)
        return try await invocation.act(.suspend, ids, json: format.json, verb: "paused")
    }
}
