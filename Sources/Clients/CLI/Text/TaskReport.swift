import Foundation
import NightshiftAPI

/// The lines of `show` and `why` about transfers.
struct TaskReport {
    var times: TimeText
    var style: Style

    func lines(showing task: TaskStatus) -> [String] {
        var facts = Facts()
        facts.add("state", stateLine(task))
        facts.add("url", TaskText.shown(url: task.url))
        if let current = task.currentURL, current != task.url {
            facts.add("redirects to", TaskText.shown(url: current))
        }
        if task.method != "GET" { facts.add("method", TerminalText.escaped(task.method)) }
        facts.add("source", task.source.map { TerminalText.escaped($0) })
        facts.add("file", task.file.map { TerminalText.escaped($0) } ?? destination(task.destination))
        facts.add("received", amount(task.countOfBytesReceived, of: task.countOfBytesExpectedToReceive))
        if task.kind == .upload {
            facts.add("sent", amount(task.countOfBytesSent, of: task.countOfBytesExpectedToSend))
        }
        facts.add("rate", task.bytesPerSecond.map { QuantityText.rate($0) })
        facts.add("yielding", task.yielding?.numbers)
        if let count = task.connections, count > 1 { facts.add("connections", "\(count)") }
        facts.add("rate limit", task.rateLimit.flatMap { $0 > 0 ? QuantityText.rate(Double($0)) : nil })
        facts.add("priority", task.priority == 0.5 ? nil : String(task.priority))
        facts.add("needs", task.rules.flatMap(TaskText.needs))
        facts.add("checksum", task.checksum.map { "\($0.algorithm.rawValue):\($0.hex)" })
        facts.add(
            "verified", task.verified.isEmpty ? nil : TerminalText.escaped(task.verified.joined(separator: ", ")))
        facts.add("response", task.response.map { "HTTP/\($0.httpVersion) \($0.status)" })
        facts.add("note", task.response?.remark?.sentence)
        facts.add("attempts", String(task.attempts))
        facts.add("restarts", task.restarts > 0 ? "\(task.restarts) (from the first byte)" : nil)
        facts.add("created", times.both(task.createdAt))
        facts.add("not before", task.earliestBeginDate.map { times.both($0) })
        facts.add("started", task.startedAt.map { times.both($0) })
        facts.add("ended", task.endedAt.map { times.both($0) })
        facts.add("deadline", task.state.isTerminal ? nil : task.deadline.map { times.both($0) })
        facts.add("last error", task.error == nil ? task.lastError.map { TaskText.full($0) } : nil)
        facts.add("description", task.description.map { TerminalText.escaped($0) })
        if task.state == .failed, task.kind == .download, task.file == nil {
            facts.add("retry", "nightshift retry \(task.id)")
        } else if task.resumeData != nil {
            facts.add("continue", "nightshift \(task.kind.command) --continue \(task.id)")
        }
        if task.hasWrongURL { facts.add("new URL", "nightshift retarget \(task.id) URL") }
        return [style.strong("Transfer \(task.id): \(TaskText.name(task))")] + facts.lines
    }

    func lines(explaining explanation: Explanation) -> [String] {
        let task = explanation.task
        var lines = [
            style.strong("Transfer \(task.id): \(TaskText.name(task))"),
            "  \(task.state.name): \(TerminalText.escaped(explanation.sentence))",
        ]
        var facts = Facts()
        // If the sentence contains the detail, the detail is not repeated.
        let detail = task.wait?.detail.flatMap { explanation.sentence.contains($0) ? nil : $0 }
        facts.add("waits for", detail.map { TerminalText.escaped($0) })
        facts.add("attempts", task.wait?.count.map { "\($0) in a row with this result" })
        facts.add("since", since(explanation).map { times.both($0) })
        facts.add("until", task.wait?.until.map { times.both($0) })
        if task.wait?.until == nil {
            facts.add("ended by", (explanation.endedBy ?? task.wait?.reason.endedBy).map { times.words($0) })
        }
        facts.add("deadline", task.state.isTerminal ? nil : task.deadline.map { times.both($0) })
        lines += facts.lines
        let errors = Self.errors(explanation.history).suffix(5)
        if !errors.isEmpty {
            lines.append("Last errors:")
            lines += errors.map { run in
                "  \(times.absolute(run.entry.time))  \(run.entry.error.map { TaskText.full($0) } ?? "")"
                    + run.suffix(times)
            }
        }
        if !explanation.history.isEmpty {
            lines.append("What happened:")
            lines += EntryRun.runs(explanation.history).suffix(10).map { run in
                let particulars = run.entry.detail ?? run.entry.wait?.detail
                return "  \(times.absolute(run.entry.time))  \(run.entry.decision.sentence)"
                    + (particulars.map { " (\(TerminalText.escaped($0)))" } ?? "") + run.suffix(times)
            }
        }
        return lines
    }

    /// Returns the errors in the order of their last occurrence. Each error is returned once.
    private static func errors(_ history: [JournalEntry]) -> [EntryRun] {
        history.reduce(into: [EntryRun]()) { runs, entry in
            guard let error = entry.error else { return }
            guard let index = runs.firstIndex(where: { $0.entry.error == error }) else {
                return runs.append(EntryRun(entry: entry, since: entry.time, count: 1))
            }
            let known = runs.remove(at: index)
            runs.append(EntryRun(entry: entry, since: known.since, count: known.count + 1))
        }
    }

    /// Returns the time at which the task entered its state. The history may be too short to contain it; then the time
    /// of the last decision is returned.
    private func since(_ explanation: Explanation) -> Date? {
        let task = explanation.task
        if task.state.isTerminal { return task.endedAt }
        if let wait = task.wait { return wait.since }
        let entrance = explanation.history.last { $0.decision == task.state.entrance } ?? explanation.history.last
        return entrance?.time ?? task.createdAt
    }

    private func stateLine(_ task: TaskStatus) -> String {
        switch task.state {
        case .waiting: TaskText.waiting(task.wait, lastError: task.lastError, now: times.now)
        case .completed: style.good("completed")
        case .failed: style.bad(TaskText.ending(task))
        case .suspended where task.wait?.reason == .serviceFault: WaitReason.serviceFault.wording.short
        case .suspended, .running, .finishing, .cancelled: task.state.name
        }
    }

    private func destination(_ destination: Destination?) -> String? {
        destination.map { TerminalText.escaped($0.directory + "/" + ($0.filename ?? "")) }
    }

    private func amount(_ done: Int64, of total: Int64) -> String? {
        guard total > 0 else { return done > 0 ? "\(QuantityText.size(done))" : nil }
        let percent = QuantityText.percent(done: done, of: total).map { " (\($0)%)" } ?? ""
        return "\(QuantityText.size(done)) of \(QuantityText.size(total))\(percent)"
    }
}

/// A list of names and values, with one pair per line and aligned values.
struct Facts {
    private(set) var lines: [String] = []

    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        lines.append("  " + TerminalText.padded(name, to: 13) + value)
    }
}

extension TaskState {
    /// The decision with which a task enters this state.
    fileprivate var entrance: Decision {
        switch self {
        case .waiting: .held
        case .running: .started
        case .finishing: .finishing
        case .suspended: .suspended
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }
}
