import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppBackgroundCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "background",
        abstract: "Report that an app has left the foreground.",
        discussion: """
            Window systems and launchers call this. The app is notified, has a few seconds to save its state, and is \
            suspended when it has no background work. An app that the service did not launch is never suspended.

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
