import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct RetryCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try again now what waits after a failure.",
        discussion: """
            For the moment at which you know better: the server is back, now. Without numbers everything that waits \
            for its next attempt tries at once, and every pause ends, also one that a server asked for. What waits for \
            something else, such as a network or power, goes on waiting; 'nightshift why' says for what.

            Examples:
              nightshift retry
              nightshift retry 12
              nightshift retry 12-20 31
            """)

    @Argument(
        help: ArgumentHelp(
            "Task numbers, also ranges such as 12-20; all that wait after a failure unless given.", valueName: "id"),
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
            // Their pauses end, too, and with them the waits of transfers that have not failed themselves.
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

    /// What tries again now; nil where refusals have said it.
    static func line(_ answer: RetryResponse, _ hosts: [PausedHost]) -> String? {
        let origins = hosts.prefix(3).map { TerminalText.escaped($0.origin) }.joined(separator: ", ")
        let waited = "what waited for " + (hosts.count > 3 ? "\(hosts.count) hosts" : origins)
        switch (answer.count, hosts.isEmpty) {
        case (0, true) where !answer.refused.isEmpty: return nil
        case (0, true): return "None of them waits after a failure; 'nightshift why ID' says what one waits for."
        case (0, false): return waited.prefix(1).uppercased() + waited.dropFirst() + " tries again now."
        case (1, true): return "1 transfer tries again now."
        case (1, false): return "1 transfer tries again now, and so does \(waited)."
        case (let count, true): return "\(count) transfers try again now."
        case (let count, false): return "\(count) transfers try again now, and so does \(waited)."
        }
    }
}
