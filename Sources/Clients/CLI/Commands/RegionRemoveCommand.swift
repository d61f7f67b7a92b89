import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RegionRemoveCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a region of an app.",
        discussion: """
            Examples:
              nightshift region remove home --app org.example.Arrivals
            """)

    @Argument(
        help: ArgumentHelp("The identifier of the region.", valueName: "identifier"),
        completion: DynamicCompletion.regions.kind)
    var identifier: String

    @Option(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var app: AppArgument

    @OptionGroup var format: JSONOption

    func validate() throws {
        if identifier.isEmpty { throw ValidationError("The identifier of a region must not be empty.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(app)
        let client = invocation.service.client
        try await invocation.service.ready()
        try await client.send(.removeRegion(identifier, of: app))
        let status = try await client.send(.location(of: app))
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.line("\(AppText.id(app)): region \(TerminalText.escaped(identifier)) was removed")
        }
        return .whole
    }
}
