import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppExpireCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "expire",
        abstract: "Fire an app's expiration handlers, to try them.",
        discussion: """
            Tells the app that the time of what it was woken for is nearly over, as the service does shortly before \
            the end: a fetch, a processing task, or one that its user began. A program that does not link the library \
            gets SIGTERM. Where nothing is under way it is refused.

            Examples:
              nightshift app expire org.example.Feeds
              nightshift app expire org.example.Feeds feeds.clean
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Argument(
        help: ArgumentHelp(
            "The identifier of the task that is meant; everything under way unless given.", valueName: "identifier"))
    var identifier: String?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if identifier?.isEmpty == true { throw ValidationError("A task has an identifier.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(id)
        try await invocation.service.ready()
        let status = try await invocation.service.client.send(
            .expire(app, ExpirationRequest(identifier: identifier)))
        if format.json {
            try invocation.json(status)
        } else {
            let task = identifier.map { " of " + TerminalText.escaped($0) } ?? ""
            invocation.output.line("\(AppText.id(app)): told that the time\(task) is nearly over")
        }
        return .whole
    }
}
