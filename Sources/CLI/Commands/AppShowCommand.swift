import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppShowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about an app.",
        discussion: """
            Also its last background fetches, when the next one is expected, the tasks that it has scheduled, and what \
            it watches of its user's location.

            Examples:
              nightshift app show org.example.Photos
              nightshift app show /usr/local/bin/sync-photos --json
            """)

    @Argument(help: AppArgument.help, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try await invocation.service.fetch(.app(try invocation.appID(id)))
        let background = try await invocation.background(of: app.id)
        if format.json {
            try invocation.json(WithBackground(value: app, background: background))
        } else {
            invocation.output.lines(invocation.appReport.lines(showing: app) + invocation.lines(background))
        }
        return .whole
    }
}
