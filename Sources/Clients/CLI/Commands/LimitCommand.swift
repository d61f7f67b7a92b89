import ArgumentParser
import NightshiftAPI
import NightshiftClient

extension YieldMode: ExpressibleByArgument {}

struct LimitCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Show or change the limits for all transfers together.",
        discussion: """
            A change takes effect at once and stays after a restart. 'nightshift set' changes single transfers.

            Examples:
              nightshift limit
              nightshift limit 2M
              nightshift limit none --transfers 8
              nightshift limit --yield on
            """)

    @Argument(
        help: ArgumentHelp(
            "The maximum rate in bytes per second, such as 500K or 1.5M, or none for no limit.", valueName: "rate"),
        transform: Rate.parse)
    var rate: Rate?

    @Option(help: ArgumentHelp("The maximum number of transfers that run at once.", valueName: "count"))
    var transfers: Int?

    @Option(
        help: ArgumentHelp(
            """
            Which transfers yield to other traffic on the line. auto: discretionary ones, those with a priority below \
            0.5, and those of apps in the background. on: all except those of apps in the foreground. off: none. \
            --yield and --no-yield of a single transfer come first.
            """, valueName: "mode"))
    var yield: YieldMode?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if let transfers, transfers < 1 { throw ValidationError("--transfers must be 1 or more.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        var settings: ServiceSettings
        if rate == nil && transfers == nil && yield == nil {
            settings = try await service.fetch(.settings)
        } else {
            try await service.ready()
            settings = try await service.client.send(
                .changeSettings(
                    ServiceSettings(rateLimit: rate?.bytesPerSecond, maximumTransfers: transfers, yield: yield)))
        }
        if format.json {
            try invocation.json(settings)
        } else {
            invocation.output.lines(Self.lines(settings))
        }
        return .whole
    }

    static func lines(_ settings: ServiceSettings) -> [String] {
        ["rate limit  " + rate(settings), "at once     " + transfers(settings)]
            + (settings.yield.map { ["yield       " + yield($0)] } ?? [])
    }

    static func rate(_ settings: ServiceSettings) -> String {
        let limit = settings.rateLimit ?? 0
        return limit > 0 ? QuantityText.rate(Double(limit)) : "none"
    }

    static func transfers(_ settings: ServiceSettings) -> String {
        settings.maximumTransfers.map { "at most \($0) transfer\($0 == 1 ? "" : "s")" }
            ?? "the service's default number of transfers"
    }

    static func yield(_ mode: YieldMode) -> String {
        switch mode {
        case .auto: "auto: discretionary transfers, those with a low priority, and those of apps in the background"
        case .on: "on: all transfers except those of apps in the foreground"
        case .off: "off: only transfers with --yield"
        }
    }
}
