import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppBackgroundCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "background",
        abstract: "Send an app to the background.",
        discussion: """
            For window systems and launchers. The app is told, has a few seconds to put its things away, and is \
            suspended when it has nothing to do. One that the service did not launch is never suspended.

            Examples:
              nightshift app background org.example.Photos
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.changeApp(id, json: format.json) { .sendToBackground($0) }
    }
}
