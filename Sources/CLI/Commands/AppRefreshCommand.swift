import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppRefreshCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Show or steer the background fetches of an app.",
        discussion: """
            Shows the last fetches, when the next one is expected, what speaks for and against it now, and the tasks \
            that the app has scheduled. With --now one begins whatever speaks against it, unless its user has \
            force-quit the app. Intervals are never, minimum (the service decides), seconds or another length of \
            time, which is the least there is between two fetches, or default, which takes your word back.

            Examples:
              nightshift app refresh org.example.Feeds
              nightshift app refresh org.example.Feeds --now
              nightshift app refresh org.example.Feeds --interval 30m --cap 24
              nightshift app refresh org.example.Feeds --off
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(help: "Begin a fetch now.")
    var now = false

    @Flag var change: RefreshSwitch?

    @Option(
        help: ArgumentHelp(
            "In place of the app's own: never, minimum, seconds, such as 900 or 15m, or default.",
            valueName: "interval"),
        transform: AppRefreshCommand.interval)
    var interval: String?

    @Option(
        help: ArgumentHelp("Fetches of a day at most, or none.", valueName: "count"),
        transform: AppRefreshCommand.cap)
    var cap: Int?

    @OptionGroup var format: JSONOption

    /// As the service takes it.
    static func interval(_ text: String) throws -> String {
        if text == "default" || RefreshInterval(text) != nil { return text }
        guard let span = try? TimeSpan.parse(text), let interval = RefreshInterval(String(span.seconds)) else {
            throw ValidationError("an interval is never, minimum, seconds up to a year, such as 900 or 15m, or default")
        }
        return interval.description
    }

    /// -1 takes the cap away.
    static func cap(_ text: String) throws -> Int {
        if text == "none" { return -1 }
        guard let count = Int(text), count >= 0 else { throw ValidationError("a cap is a number of fetches, or none") }
        return count
    }

    func validate() throws {
        if now, change != nil || interval != nil || cap != nil {
            throw ValidationError("--now goes alone.")
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
