import Foundation
package import NightshiftAPI
import Store

/// Immediate retries of tasks that wait after a failure, or that have failed.
extension TransferService {
    /// Ends the wait of one task after a failure, and all pauses on the route to its origin. A failed download starts
    /// again.
    ///
    /// Does not change a task that runs or that waits for another reason.
    package func retry(_ id: TaskID) async throws(Problem) -> TaskStatus {
        let answer = try await retry(RetryRequest(tasks: [id]))
        if let refusal = answer.refused.first { throw refusal.problem }
        return try await task(id)
    }

    /// Ends the waits of the given tasks, and starts failed downloads among them again. Without tasks, ends the waits
    /// of all tasks that wait after a failure. If one task cannot be retried, the other tasks still are.
    package func retry(_ request: RetryRequest) async throws(Problem) -> RetryResponse {
        guard let tasks = request.tasks else { return try await retryAll() }
        guard (1...Limits.tasksPerRequest).contains(tasks.count) else {
            throw .invalid("A request must contain 1 to \(Limits.tasksPerRequest) transfers.", pointer: "/tasks")
        }
        try RequestRules.check(tasks)
        let now = now
        // A running task needs no retry, and only its transfer may write the task's row.
        let busy = Set(tasks.filter(isBusy))
        let retried = try await change { transaction -> Result<Retried, Problem> in
            var retried = Retried()
            for id in Set(tasks).sorted() {
                let found: TaskRecord?
                do {
                    found = try transaction.task(id)
                } catch let error as StoreError where error.code == .unreadable {
                    retried.response.refused.append(RefusedTask(id: id, problem: Problem(error)))
                    continue
                }
                guard var record = found else {
                    retried.response.refused.append(RefusedTask(id: id, problem: Self.noTask(id)))
                    continue
                }
                if let refusal = Self.refusal(record) {
                    retried.response.refused.append(RefusedTask(id: id, problem: refusal))
                    continue
                }
                if record.isRetryable {
                    retried.failed.append(id)
                    retried.ways.insert(self.way(of: record))
                    continue
                }
                guard record.state == .waiting, !busy.contains(id) else { continue }
                retried.ways.insert(self.way(of: record))
                guard record.waitsAfterFailure else { continue }
                let entries = self.apply(.retry, to: &record, now: now)
                retried.response.count += 1
                try transaction.update(record)
                for entry in entries { try transaction.record(entry) }
            }
            return .success(retried)
        }
        for way in retried.ways { hosts.forget(way) }
        await schedule()
        return try await restart(retried.failed, after: retried.response)
    }

    /// The result of the first transaction of a retry.
    private struct Retried {
        var response = RetryResponse(count: 0)
        var ways: Set<HostTable.Way> = []
        /// The failed tasks that are to start again.
        var failed: [TaskID] = []
    }

    /// Starts failed tasks again.
    ///
    /// - Returns: the response, with the results for these tasks.
    private func restart(_ ids: [TaskID], after response: RetryResponse) async throws(Problem) -> RetryResponse {
        var response = response
        var rest = ids[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Self.tasksPerTransaction))
            rest = rest.dropFirst(part.count)
            for (id, outcome) in try await transition(each: part, { $0.isRetryable ? .retry : nil }) {
                switch outcome {
                case .success: response.count += 1
                case .failure(let problem): response.refused.append(RefusedTask(id: id, problem: problem))
                }
            }
        }
        return response
    }

    private func retryAll() async throws(Problem) -> RetryResponse {
        let now = now
        let count = try await change { transaction -> Result<Int, Problem> in
            let count = try transaction.endAllWaits()
            let detail = count == 1 ? "1 transfer." : "\(count) transfers."
            try transaction.record(JournalEntry(time: now.date, decision: .retried, detail: detail))
            return .success(count)
        }
        hosts.forgetAll()
        await schedule()
        return RetryResponse(count: count)
    }

    /// Returns the reason why a task cannot be retried. Returns nil if it can be retried, or if it needs no retry.
    private static func refusal(_ record: TaskRecord) -> Problem? {
        let id = record.id
        switch record.state {
        case .waiting, .running, .finishing: return nil
        case .failed where record.isRetryable: return nil
        case .suspended: return .conflict("Transfer \(id) is paused. Resume it to try again.")
        case .completed: return .conflict("Transfer \(id) has completed; there is nothing to retry.")
        case .cancelled:
            return .conflict("Transfer \(id) was cancelled. \(addition(of: record))")
        case .failed where record.app != nil:
            return .conflict("The app was notified that transfer \(id) failed. Only the app can try again.")
        case .failed where record.kind == .download:
            return .conflict("All bytes of transfer \(id) have arrived. Its file is kept here: \(record.file ?? "")")
        case .failed:
            let reason = record.error.map { " \($0.message)" } ?? ""
            return .conflict("Upload \(id) has failed.\(reason) \(addition(of: record))")
        }
    }

    /// Returns the advice to add a task again that cannot be retried.
    private static func addition(of record: TaskRecord) -> String {
        let command = record.kind == .upload ? "put" : "get"
        guard record.resumeData == nil else {
            return "To continue it as a new transfer, run: nightshift \(command) --continue \(record.id)"
        }
        return "Add it again with 'nightshift \(command)'."
    }
}

extension TaskRecord {
    /// Whether the task waits for its next attempt after a failure.
    fileprivate var waitsAfterFailure: Bool {
        guard notBefore != nil, let reason = wait?.reason else { return false }
        return reason.followsFailure || reason == .slow
    }
}
