import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RetryCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry transfers that failed or wait after a failure.",
        discussion: """
            Use this when you know that a server is available again. Without numbers, all transfers that wait for their \
            next attempt start it at once, and all delays end, even those that a server asked for. Transfers that wait \
            for something else, such as a network or power, continue to wait; 'nightshift why' explains them.

            A download that has failed starts again if you give its number. It keeps the data on disk if the file is \
            the same. 'nightshift retarget' does this with another URL.

            Examples:
              nightshift retry
              nightshift retry 12
              nightshift retry 12-20 31
            """)

    @Argument(
        help: ArgumentHelp(
            "Transfer numbers, or ranges such as 12-20. Without them, all that wait after a failure are retried.",
            valueName: "id"),
        completion: DynamicCompletion.tasks.kind,
        transform: TaskRange.parse)
    var ranges: [TaskRange] = []

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let service = invocation.service
        try await service.ready()
        var answer = RetryResponse(count: 0)
        var hosts: [PausedHost] = []
        if ranges.isEmpty {
            // The pauses of these hosts end too. This also starts transfers that have not failed but wait because of
            // such a host.
            hosts = try await service.client.send(.status).pausedHosts
            answer = try await service.client.send(.retry(RetryRequest()))
        } else {
            let ids = TaskRange.ids(ranges)
            for start in stride(from: 0, to: ids.count, by: Limits.tasksPerRequest) {
                let batch = ids[start..<min(start + Limits.tasksPerRequest, ids.count)]
                let part = try await service.client.send(.retry(RetryRequest(tasks: Array(batch))))
                answer.count += part.count
                answer.refused += part.refused
            }
        }
        if format.json {
            try invocation.json(answer)
        } else {
            report(answer, hosts, invocation)
        }
        return answer.refused.isEmpty ? .whole : .failed
    }

    private func report(_ answer: RetryResponse, _ hosts: [PausedHost], _ invocation: Invocation) {
        invocation.errors.lines(RefusalText.lines(answer.refused))
        if let line = Self.line(answer, hosts) { invocation.output.line(line) }
    }

    /// Returns a sentence about the retried transfers, or nil if the refusals already explain the result.
    static func line(_ answer: RetryResponse, _ hosts: [PausedHost]) -> String? {
        let origins = hosts.prefix(3).map { TerminalText.escaped($0.origin) }.joined(separator: ", ")
        let waiting = "transfers that waited for " + (hosts.count > 3 ? "\(hosts.count) hosts" : origins)
        switch (answer.count, hosts.isEmpty) {
        case (0, true) where !answer.refused.isEmpty: return nil
        case (0, true): return "No transfer waits after a failure. 'nightshift why ID' explains why a transfer waits."
        case (0, false): return "All \(waiting) are retried now."
        case (1, true): return "1 transfer is retried now."
        case (1, false): return "1 transfer is retried now, and so are all \(waiting)."
        case (let count, true): return "\(count) transfers are retried now."
        case (let count, false): return "\(count) transfers are retried now, and so are all \(waiting)."
        }
    }
}
