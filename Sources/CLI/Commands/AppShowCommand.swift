import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppShowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about an app.",
        discussion: """
            Examples:
              nightshift app show org.example.Photos
              nightshift app show /usr/local/bin/sync-photos --json
            """)

    @Argument(help: AppArgument.help, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try await invocation.service.fetch(.app(invocation.appID(id)))
        if format.json {
            try invocation.json(app)
        } else {
            invocation.output.lines(invocation.appReport.lines(showing: app))
        }
        return .whole
    }
}
