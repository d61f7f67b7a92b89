import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppShowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about an app.",
        discussion: """
            This includes its last background fetches, the expected time of the next one, its scheduled tasks, its \
            remote notifications, and its use of your location.

            Examples:
              nightshift app show org.example.Photos
              nightshift app show /usr/local/bin/sync-photos --json
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let answer = try await invocation.description(of: try invocation.appID(id))
        if format.json {
            try invocation.json(answer.document)
        } else {
            invocation.output.lines(answer.lines)
        }
        return .whole
    }
}

extension Invocation {
    /// Returns a full description of the app.
    func description(of id: AppID) async throws -> SubjectAnswer {
        let app = try await service.fetch(.app(id))
        let background = try await background(of: app.id)
        return SubjectAnswer(
            lines: appReport.lines(showing: app) + lines(background),
            document: WithBackground(value: app, background: background))
    }
}
