import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppRefreshCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Show or control the background fetches of an app.",
        discussion: """
            Shows the last fetches, the expected time of the next one, the reasons for and against a fetch now, and \
            the app's scheduled tasks. With --now a fetch begins despite reasons against it, unless you have \
            force-quit the app. --interval sets the minimum time between two fetches. With minimum, the service \
            decides. With never, nothing is fetched for the app. With default, your setting is removed.

            Examples:
              nightshift app refresh org.example.Feeds
              nightshift app refresh org.example.Feeds --now
              nightshift app refresh org.example.Feeds --interval 30m --cap 24
              nightshift app refresh org.example.Feeds --off
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(help: "Start a fetch now.")
    var now = false

    @Flag var change: RefreshSwitch?

    @Option(
        help: ArgumentHelp(
            "The shortest time between two fetches, such as 900 or 15m, or never, minimum or default.",
            valueName: "interval"),
        transform: AppRefreshCommand.interval)
    var interval: String?

    @Option(
        help: ArgumentHelp("The maximum number of fetches per day, or none for no limit.", valueName: "count"),
        transform: AppRefreshCommand.cap)
    var cap: Int?

    @OptionGroup var format: JSONOption

    /// Returns the interval in the form in which the service accepts it.
    static func interval(_ text: String) throws -> String {
        if text == "default" || RefreshInterval(text) != nil { return text }
        guard let span = try? TimeSpan.parse(text), let interval = RefreshInterval(String(span.seconds)) else {
            throw ValidationError(
                "an interval is a time up to a year, such as 900 or 15m, or one of never, minimum and default")
        }
        return interval.description
    }

    /// Returns the maximum number of fetches per day, or -1 to remove the limit.
    static func cap(_ text: String) throws -> Int {
        if text == "none" { return -1 }
        guard let count = Int(text), count >= 0 else {
            throw ValidationError("a cap is a number of fetches, or none for no limit")
        }
        return count
    }

    func validate() throws {
        if now, change != nil || interval != nil || cap != nil {
            throw ValidationError("--now cannot be combined with other options.")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(id)
        let service = invocation.service
        let status: AppRefreshStatus
        if now {
            try await service.ready()
            status = try await service.client.send(.fetch(app))
        } else if change != nil || interval != nil || cap != nil {
            try await service.ready()
            status = try await service.client.send(
                .changeRefresh(
                    of: app, AppRefreshChange(isOn: change?.isOn, interval: interval, dailyCap: cap)))
        } else {
            status = try await service.fetch(.refresh(of: app))
        }
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.lines(invocation.appRefreshReport.lines(status))
        }
        return .whole
    }
}
