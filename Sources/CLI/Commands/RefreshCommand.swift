import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RefreshCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Show and steer background refresh: who is fetched for, when and why.",
        discussion: """
            Apps that ask for it are woken to fetch what is new just before they are likely to be opened. Without \
            options all of them are shown: the interval that each asked for, its last fetch and what came of it, when \
            the next one is expected, and why it is not now. 'nightshift app refresh ID' tells more of one app.

            What was learned of the use of apps stays on this machine. --forget drops it, of all apps or of one; \
            switches and intervals stay.

            Examples:
              nightshift refresh
              nightshift refresh --off
              nightshift refresh --daily-bytes 50M
              nightshift refresh --forget org.example.Feeds
            """)

    @Argument(
        help: ArgumentHelp("With --forget: the app of which it is forgotten.", valueName: "id"),
        completion: DynamicCompletion.apps.kind,
        transform: AppArgument.parse)
    var id: AppArgument?

    @Flag var change: RefreshSwitch?

    @Option(
        help: ArgumentHelp("Bytes that the fetches of a day may use, such as 50M.", valueName: "size"),
        transform: RefreshCommand.size)
    var dailyBytes: Int64?

    @Option(
        help: ArgumentHelp(
            "What the fetches of a day may cost, by a model of wakes, radio and running time.", valueName: "joules"))
    var dailyEnergy: Double?

    @Flag(help: "Forget what was learned of the use of apps.")
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
            throw ValidationError("An app goes with --forget; 'nightshift app refresh ID' shows and steers one.")
        }
        if forget, change != nil || dailyBytes != nil || dailyEnergy != nil {
            throw ValidationError("--forget goes alone.")
        }
        if let dailyEnergy, !(dailyEnergy >= 0 && dailyEnergy.isFinite) {
            throw ValidationError("--daily-energy is a number of joules.")
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
            invocation.output.line("\(AppText.id(app)): what was learned of its use is forgotten")
        }
        return .whole
    }
}

extension Invocation {
    var refreshReport: RefreshReport {
        RefreshReport(
            // Lines are cut for a terminal only: a pipe gets all of them.
            columns: output.isTerminal ? output.size().columns : .max, style: Style(isEnabled: output.allowsColor),
            times: times)
    }

    var appRefreshReport: AppRefreshReport {
        AppRefreshReport(times: times, style: Style(isEnabled: output.allowsColor))
    }
}
