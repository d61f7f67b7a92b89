import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RegionAddCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Watch a region for an app.",
        discussion: """
            A region of the app with the same identifier is replaced. Adding a region while the device is inside it \
            does not cause an event. South and west are written with a letter, such as 33.5S,70.7W, or with a minus \
            sign after '--'.

            Examples:
              nightshift region add home 52.5163,13.3777 150 --app org.example.Arrivals
              nightshift region add city 33.5S,70.7W 5km --app org.example.Gate --exit-only
            """)

    /// An option that limits the events that wake the app. Without this option, the app is woken for entries and exits.
    enum Crossings: String, EnumerableFlag {
        case entryOnly
        case exitOnly

        static func help(for value: Crossings) -> ArgumentHelp? {
            switch value {
            case .entryOnly: "Wake the app only when the device enters the region."
            case .exitOnly: "Wake the app only when the device leaves the region."
            }
        }
    }

    @Argument(help: ArgumentHelp("The identifier of the region.", valueName: "identifier"))
    var identifier: String

    @Argument(
        help: ArgumentHelp("The centre in degrees.", valueName: "lat,lon"), transform: PlaceArgument.parse)
    var center: PlaceArgument

    @Argument(
        help: ArgumentHelp("The radius in metres, or with km in kilometres, such as 1.5km.", valueName: "radius"),
        transform: RadiusArgument.parse)
    var radius: RadiusArgument

    @Option(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var app: AppArgument

    @Flag var crossings: Crossings?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if identifier.isEmpty { throw ValidationError("The identifier of a region must not be empty.") }
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
