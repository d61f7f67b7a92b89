import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct ResumeCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Continue paused transfers.",
        discussion: """
            Examples:
              nightshift resume 12
              nightshift resume --all
            """)

    @OptionGroup var selection: TaskSelection
    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        let ids = try await selection.ids([.suspended], service)
        return try await invocation.act(.resume, ids, json: format.json, verb: "resumed")
    }
}
