import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppActivateCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate",
        abstract: "Report that an app is in the foreground.",
        discussion: """
            Window systems and launchers call this. A suspended app is resumed, and notified that it becomes active.

            Examples:
              nightshift app activate org.example.Photos
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.changeApp(id, json: format.json) { .activate($0) }
    }
}
