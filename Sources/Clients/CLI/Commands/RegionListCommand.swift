import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RegionListCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the regions of all apps, or of one.",
        discussion: """
            For each region, the list shows whether the device is inside, which events wake the app, and how many \
            events there were.

            Examples:
              nightshift region list
              nightshift region list --app org.example.Arrivals --json
            """)

    @Option(
        help: ArgumentHelp("List only regions of this app.", valueName: "id"), completion: DynamicCompletion.apps.kind,
        transform: AppArgument.parse)
    var app: AppArgument?

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let apps: [AppLocationStatus]
        if let app {
            let status = try await invocation.service.fetch(.location(of: try invocation.appID(app)))
            if format.json {
                try invocation.json(status)
                return .whole
            }
            apps = [status]
        } else {
            let status = try await invocation.service.fetch(.location)
            if format.json {
                try invocation.json(status)
                return .whole
            }
            apps = status.apps
        }
        guard apps.contains(where: { !$0.regions.isEmpty }) else {
            invocation.errors.line(
                "There are no regions. Add one with: nightshift region add IDENTIFIER LAT,LON RADIUS --app ID")
            return .whole
        }
        invocation.output.lines(invocation.locationReport.lines(regionsOf: apps))
        return .whole
    }
}
