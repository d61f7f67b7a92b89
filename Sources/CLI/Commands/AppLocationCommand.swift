import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppLocationCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "location",
        abstract: "Show what an app watches of your location, or say whether it may.",
        discussion: """
            Without an option: your word, the app's reason, its regions and on which side of each the device is, how \
            often it was woken, and how long the receiver was on for it. Only with --always is it woken. An app that \
            is no longer allowed is told so, and hears of nothing any more.

            Examples:
              nightshift app location org.example.Arrivals
              nightshift app location org.example.Arrivals --always
              nightshift app location org.example.Arrivals --deny
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag var word: LocationWord?

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(id)
        let service = invocation.service
        let status: AppLocationStatus
        if let word {
            try await service.ready()
            status = try await service.client.send(
                .changeLocation(of: app, AppLocationChange(permission: word.permission)))
        } else {
            status = try await service.fetch(.location(of: app))
        }
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.lines(invocation.appLocationReport.lines(status))
        }
        return .whole
    }
}
