import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppQuitCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "quit",
        abstract: "Ask an app to quit.",
        discussion: """
            The app's transfers continue, and it is launched again when they have ended. With --force the app is \
            force-quit: its transfers are cancelled, and nothing launches it until you do.

            Examples:
              nightshift app quit org.example.Photos
              nightshift app quit --force org.example.Photos
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(help: "Also cancel the app's transfers, and launch it only when you do.")
    var force = false

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.changeApp(id, json: format.json) { .quit($0, QuitRequest(force: force ? true : nil)) }
    }
}
