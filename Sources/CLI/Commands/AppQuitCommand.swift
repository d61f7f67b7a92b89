import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppQuitCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "quit",
        abstract: "Ask an app to end itself.",
        discussion: """
            Its transfers go on, and it is launched again when they have ended. With --force it is the user's force \
            quit: its transfers are cancelled, and nothing launches it until the user does.

            Examples:
              nightshift app quit org.example.Photos
              nightshift app quit --force org.example.Photos
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(help: "Also cancel its transfers, and do not launch it until the user does.")
    var force = false

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.changeApp(id, json: format.json) { .quit($0, QuitRequest(force: force ? true : nil)) }
    }
}
