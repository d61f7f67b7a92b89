import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppKillCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "End an app's process as a crash would, for trials.",
        discussion: """
            The app is not asked. Its transfers go on, and it is launched again when they have ended. The user's way \
            to end an app is 'nightshift app quit'.

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
