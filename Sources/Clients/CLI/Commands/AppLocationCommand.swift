import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppLocationCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "location",
        abstract: "Show an app's use of your location, or set its location permission.",
        discussion: """
            Without an option, this shows the permission, the app's reason, its regions and whether the device is \
            inside each, the number of wakes, and how long the receiver was on for the app. Location events wake the \
            app only with --always. An app that loses the permission is notified, and receives no further events.

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
