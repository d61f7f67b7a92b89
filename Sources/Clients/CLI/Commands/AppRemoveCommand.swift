import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppRemoveCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove an app's desktop entry.",
        discussion: """
            Removes only an entry that was installed for your user. The app's program stays where it is. If the \
            service cannot read its data about the app, only that data is deleted, and the entry stays.

            Examples:
              nightshift app remove org.example.Photos
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    private struct Document: Encodable {
        var removed: [AppID]
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(id)
        try await invocation.service.ready()
        try await invocation.service.client.send(.uninstall(app))
        if format.json {
            try invocation.json(Document(removed: [app]))
        } else {
            invocation.output.line(TerminalText.escaped(app.rawValue) + ": removed")
        }
        return .whole
    }
}
