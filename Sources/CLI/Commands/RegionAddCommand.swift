import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RegionAddCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Watch a region for an app.",
        discussion: """
            The same identifier replaces. A region that is added while the device is inside it tells nothing by \
            itself. South and west have a letter, such as 33.5S,70.7W, or a sign behind '--'.

            Examples:
              nightshift region add home 52.5163,13.3777 150 --app org.example.Arrivals
              nightshift region add city 33.5S,70.7W 5km --app org.example.Gate --exit-only
            """)

    /// Which crossings the app is woken for, as typed; both unless told otherwise.
    enum Crossings: String, EnumerableFlag {
        case entryOnly
        case exitOnly

        static func help(for value: Crossings) -> ArgumentHelp? {
            switch value {
            case .entryOnly: "Wake it when the device comes in, not when it goes out."
            case .exitOnly: "Wake it when the device goes out, not when it comes in."
            }
        }
    }

    @Argument(help: ArgumentHelp("What the app calls the region.", valueName: "identifier"))
    var identifier: String

    @Argument(
        help: ArgumentHelp("Its centre in degrees.", valueName: "lat,lon"), transform: PlaceArgument.parse)
    var center: PlaceArgument

    @Argument(
        help: ArgumentHelp("Its radius in metres, or such as 1.5km.", valueName: "radius"),
        transform: RadiusArgument.parse)
    var radius: RadiusArgument

    @Option(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var app: AppArgument

    @Flag var crossings: Crossings?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if identifier.isEmpty { throw ValidationError("A region has an identifier.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(app)
        let region = MonitoredRegion(
            identifier: identifier, center: center.coordinate, radius: radius.metres,
            notifiesOnEntry: crossings != .exitOnly, notifiesOnExit: crossings != .entryOnly)
        try await invocation.service.ready()
        let status = try await invocation.service.client.send(.add(region, for: app))
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.lines(invocation.appLocationReport.lines(added: identifier, status))
        }
        return .whole
    }
}
