import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct StatusCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the status of the service.",
        discussion: """
            This command does not start the service. If it does not run, the exit code is 3.

            Examples:
              nightshift status
              nightshift status --json
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        guard try invocation.serviceRuns() else {
            throw CommandFailure.unreachable(
                "The service does not run. 'nightshift service start' and any command that needs the service start it. "
                    + "Unfinished transfers continue when it runs.")
        }
        let status = try await invocation.service.client.send(.status)
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.lines(Self.lines(status, times: invocation.times))
        }
        return .whole
    }

    static func lines(_ status: ServiceStatus, times: TimeText) -> [String] {
        var facts = Facts()
        facts.add("version", status.version)
        facts.add("process", String(status.processID))
        facts.add("started", times.both(status.startedAt))
        facts.add("state in", TerminalText.escaped(status.home))
        facts.add("network", status.networkAvailable ? "available" : "not available")
        let counts = TaskState.allCases.compactMap { state in
            status.tasks[state.rawValue].flatMap { $0 > 0 ? "\($0) \(state.name)" : nil }
        }
        facts.add("transfers", counts.isEmpty ? "none" : counts.joined(separator: ", "))
        facts.add("rate", QuantityText.rate(status.bytesPerSecond))
        facts.add("rate limit", LimitCommand.rate(status.settings))
        facts.add("at once", LimitCommand.transfers(status.settings))
        let paused = status.pausedHosts.map {
            "  host paused  \(TerminalText.escaped($0.origin)) until \(times.both($0.until))"
        }
        return ["The service runs."] + facts.lines + paused
    }
}
