import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RefreshCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Show and control background refresh.",
        discussion: """
            Background refresh wakes apps to fetch new content shortly before you are likely to open them. Without \
            options, this shows for each app the interval, the last fetch with its result, the expected time of the \
            next fetch, and why the app is not fetched for now. 'nightshift app refresh ID' shows more about one app.

            The service learns when you use each app. This data stays on this machine. --forget deletes it for all \
            apps or for one app; settings and intervals stay.

            Examples:
              nightshift refresh
              nightshift refresh --off
              nightshift refresh --daily-bytes 50M
              nightshift refresh --forget org.example.Feeds
            """)

    @Argument(
        help: ArgumentHelp("With --forget: the app whose learned use is deleted.", valueName: "id"),
        completion: DynamicCompletion.apps.kind,
        transform: AppArgument.parse)
    var id: AppArgument?

    @Flag var change: RefreshSwitch?

    @Option(
        help: ArgumentHelp("The amount of data that all fetches of a day may use, such as 50M.", valueName: "size"),
        transform: RefreshCommand.size)
    var dailyBytes: Int64?

    @Option(
        help: ArgumentHelp(
            "The energy that all fetches of a day may use, estimated from wakes, radio use and running time.",
            valueName: "joules"))
    var dailyEnergy: Double?

    @Flag(help: "Delete the learned use of apps.")
    var forget = false

    @OptionGroup var format: JSONOption

    static func size(_ text: String) throws -> Int64 {
        guard let bytes = ByteCount.parse(text) else {
            throw ValidationError("a size is a number with K, M or G, such as 500K or 50M")
        }
        return bytes
    }

    func validate() throws {
        if id != nil, !forget {
            throw ValidationError(
                "An app id needs --forget. To show or change one app, use 'nightshift app refresh ID'.")
        }
        if forget, change != nil || dailyBytes != nil || dailyEnergy != nil {
            throw ValidationError("--forget cannot be combined with other options.")
        }
        if let dailyEnergy, !(dailyEnergy >= 0 && dailyEnergy.isFinite) {
            throw ValidationError("--daily-energy must be a number of joules, 0 or more.")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        if forget, let id { return try await forget(try invocation.appID(id), invocation) }
        let service = invocation.service
        let status: RefreshStatus
        if forget {
            try await service.ready()
            status = try await service.client.send(.forgetLearned)
        } else if change != nil || dailyBytes != nil || dailyEnergy != nil {
            try await service.ready()
            status = try await service.client.send(
                .changeRefresh(
                    RefreshChange(
                        isOn: change?.isOn, dailyEnergy: dailyEnergy, dailyBytes: dailyBytes.map { Double($0) })))
        } else {
            status = try await service.fetch(.refresh)
        }
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.lines(invocation.refreshReport.lines(status))
        }
        return .whole
    }

    private func forget(_ app: AppID, _ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.service.ready()
        let status = try await invocation.service.client.send(.forgetLearned(of: app))
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.line("\(AppText.id(app)): its learned use was deleted")
        }
        return .whole
    }
}

extension Invocation {
    var refreshReport: RefreshReport {
        RefreshReport(
            // Lines are cut only for a terminal. A pipe receives complete lines.
            columns: output.isTerminal ? output.size().columns : .max, style: Style(isEnabled: output.allowsColor),
            times: times)
    }

    var appRefreshReport: AppRefreshReport {
        AppRefreshReport(times: times, style: Style(isEnabled: output.allowsColor))
    }
}
