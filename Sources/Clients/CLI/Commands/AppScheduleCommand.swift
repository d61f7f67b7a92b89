import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppScheduleCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Submit a scheduled task for an app, as the app itself does.",
        discussion: """
            The app is woken once for the task. A refresh task has 30 seconds. With --processing the task has some \
            minutes, while nobody uses the device. The app's desktop entry must declare the identifier in \
            X-Nightshift-TaskIdentifiers. A waiting task with the same identifier is replaced.

            Examples:
              nightshift app schedule org.example.Feeds feeds.refresh --after 06:00
              nightshift app schedule org.example.Feeds feeds.clean --processing --network
              nightshift app schedule org.example.Feeds feeds.clean --cancel
            """)

    /// The kind of a scheduled task as an option.
    enum Kind: String, EnumerableFlag {
        case refresh
        case processing

        static func help(for value: Kind) -> ArgumentHelp? {
            switch value {
            case .refresh: "Submit a short task that fetches new content. This is the default."
            case .processing: "Submit a longer task, which runs while nobody uses the device."
            }
        }

        var task: ScheduledTask.Kind { self == .refresh ? .refresh : .processing }
    }

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Argument(help: ArgumentHelp("The task's identifier.", valueName: "identifier"))
    var identifier: String

    @Flag var kind: Kind?

    @Option(
        help: ArgumentHelp(
            "The earliest time to start, such as +2h, 22:00 or 2026-11-22T06:30.", valueName: "time"),
        transform: TimeArgument.parse)
    var after: TimeArgument?

    @Flag(help: "With --processing: wait for a network.")
    var network = false

    @Flag(help: "With --processing: wait for external power.")
    var externalPower = false

    @Flag(help: "Cancel the waiting or continued task with this identifier.")
    var cancel = false

    @OptionGroup var format: JSONOption

    func validate() throws {
        if identifier.isEmpty { throw ValidationError("The identifier of a scheduled task must not be empty.") }
        if cancel, kind != nil || after != nil || network || externalPower {
            throw ValidationError("--cancel cannot be combined with other options.")
        }
        if network || externalPower, kind != .processing {
            throw ValidationError("--network and --external-power need --processing.")
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(id)
        let client = invocation.service.client
        // A mistake in the time is reported before the first request is sent.
        let task = cancel ? nil : try request(invocation)
        try await invocation.service.ready()
        if let task {
            try await client.send(.submit(task, for: app))
        } else {
            try await client.send(.cancelScheduledTask(identifier, of: app))
        }
        let status = try await client.send(.refresh(of: app))
        if format.json {
            try invocation.json(status)
        } else if let waiting = status.scheduled.last(where: { $0.task.identifier == identifier }) {
            invocation.output.line("\(AppText.id(app)): \(invocation.appRefreshReport.line(waiting))")
        } else {
            invocation.output.line(
                "\(AppText.id(app)): no waiting task has the identifier \(TerminalText.escaped(identifier))")
        }
        return .whole
    }

    private func request(_ invocation: Invocation) throws -> ScheduledTask {
        var task = ScheduledTask(identifier: identifier, kind: kind?.task ?? .refresh)
        if let after {
            guard let date = after.resolved(now: invocation.now(), timeZone: invocation.timeZone) else {
                throw CommandFailure.usage("The date in --after does not exist.")
            }
            task.earliestBegin = date
        }
        task.requiresNetwork = network ? true : nil
        task.requiresPower = externalPower ? true : nil
        return task
    }
}
