import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppExpireCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "expire",
        abstract: "Call an app's expiration handlers now, to test them.",
        discussion: """
            Notifies the app that the time for its fetch, its processing task or its continued task is nearly over, as \
            the service does shortly before the end. A program that does not link the library gets SIGTERM. The \
            command fails if no such work is running.

            Examples:
              nightshift app expire org.example.Feeds
              nightshift app expire org.example.Feeds feeds.clean
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Argument(
        help: ArgumentHelp(
            "The identifier of a scheduled task. Without it, all running work expires.", valueName: "identifier"))
    var identifier: String?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if identifier?.isEmpty == true {
            throw ValidationError("The identifier of a scheduled task must not be empty.")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(id)
        try await invocation.service.ready()
        let status = try await invocation.service.client.send(
            .expire(app, ExpirationRequest(identifier: identifier)))
        if format.json {
            try invocation.json(status)
        } else {
            let task = identifier.map { " for " + TerminalText.escaped($0) } ?? ""
            invocation.output.line("\(AppText.id(app)): notified that the time\(task) is nearly over")
        }
        return .whole
    }
}
