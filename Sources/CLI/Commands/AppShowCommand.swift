import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppShowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about an app.",
        discussion: """
            Also its last background fetches, when the next one is expected, and the tasks that it has scheduled.

            Examples:
              nightshift app show org.example.Photos
              nightshift app show /usr/local/bin/sync-photos --json
            """)

    @Argument(help: AppArgument.help, transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try await invocation.service.fetch(.app(invocation.appID(id)))
        let refresh = try await invocation.refresh(of: app.id)
        if format.json {
            try invocation.json(WithRefresh(value: app, refresh: refresh))
        } else {
            invocation.output.lines(
                invocation.appReport.lines(showing: app)
                    + (refresh.map { invocation.appRefreshReport.section($0) } ?? []))
        }
        return .whole
    }
}

/// A document about an app, with its background refresh as one more member, `refresh`.
struct WithRefresh<Value: Encodable>: Encodable {
    var value: Value
    var refresh: AppRefreshStatus?

    private enum CodingKeys: String, CodingKey {
        case refresh
    }

    func encode(to encoder: any Encoder) throws {
        try value.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(refresh, forKey: .refresh)
    }
}

extension Invocation {
    /// The background refresh of an app; nil for one that has none, such as a program without an entry.
    func refresh(of app: AppID) async throws -> AppRefreshStatus? {
        do {
            return try await service.fetch(.refresh(of: app))
        } catch let problem as Problem where problem.status == 404 {
            return nil
        }
    }
}
