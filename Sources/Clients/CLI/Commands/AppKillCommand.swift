import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppKillCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Kill an app's process as a crash would, for testing.",
        discussion: """
            The app gets no chance to save its state. Its transfers continue, and it is launched again when they have \
            ended. To end an app normally, use 'nightshift app quit'.

            Examples:
              nightshift app kill org.example.Photos
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.changeApp(id, json: format.json) { .kill($0) }
    }
}
