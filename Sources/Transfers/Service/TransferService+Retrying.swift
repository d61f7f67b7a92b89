import Foundation
package import NightshiftAPI
import Store

/// Immediate retries of tasks that wait after a failure.
extension TransferService {
    /// Ends the wait of one task after a failure, and all pauses on the route to its origin.
    ///
    /// Does not change a task that runs or that waits for another reason.
    package func retry(_ id: TaskID) async throws(Problem) -> TaskStatus {
        let answer = try await retry(RetryRequest(tasks: [id]))
        if let refusal = answer.refused.first { throw refusal.problem }
        return try await task(id)
    }

    /// Ends the waits of the given tasks, or of all tasks that wait after a failure. If one task cannot be retried, the
    /// other tasks still are.
    package func retry(_ request: RetryRequest) async throws(Problem) -> RetryResponse {
        guard let tasks = request.tasks else { return try await retryAll() }
        guard (1...Limits.tasksPerRequest).contains(tasks.count) else {
            throw .invalid("A request must contain 1 to \(Limits.tasksPerRequest) transfers.", pointer: "/tasks")
        }
        try RequestRules.check(tasks)
        let now = now
        // A running task needs no retry, and only its transfer may write the task's row.
        let busy = Set(tasks.filter(isBusy))
        let (response, ways) = try await change { transaction -> Result<(RetryResponse, Set<HostTable.Way>), Problem> in
            var response = RetryResponse(count: 0)
            var ways: Set<HostTable.Way> = []
            for id in Set(tasks).sorted() {
                let found: TaskRecord?
                do {
                    found = try transaction.task(id)
                } catch let error as StoreError where error.code == .unreadable {
                    response.refused.append(RefusedTask(id: id, problem: Problem(error)))
                    continue
                }
                guard var record = found else {
                    response.refused.append(RefusedTask(id: id, problem: Self.noTask(id)))
                    continue
                }
                if let refusal = Self.refusal(record) {
                    response.refused.append(RefusedTask(id: id, problem: refusal))
                    continue
                }
                guard record.state == .waiting, !busy.contains(id) else { continue }
                ways.insert(self.way(of: record))
                guard record.waitsAfterFailure else { continue }
                let entries = self.apply(.retry, to: &record, now: now)
                response.count += 1
                try transaction.update(record)
                for entry in entries { try transaction.record(entry) }
            }
            return .success((response, ways))
        }
        for way in ways { hosts.forget(way) }
        await schedule()
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
        case .suspended: return .conflict("Transfer \(id) is paused. Resume it to try again.")
        case .completed: return .conflict("Transfer \(id) is complete.")
        case .cancelled:
            return .conflict(
                record.resumeData == nil
                    ? "Transfer \(id) was cancelled. Add a new one."
                    : "Transfer \(id) was cancelled. To continue it, add a new transfer with its resume data.")
        case .failed where record.app != nil:
            return .conflict("The app was notified that transfer \(id) failed. Only the app can try again.")
        case .failed:
            let reason = record.error.map { " \($0.message)" } ?? ""
            let advice =
                record.kind == .upload
                ? "Add it again."
                : "To continue it with the bytes on disk, give it a URL, which may be the same: nightshift "
                    + "retarget \(id) URL"
            return .conflict("Transfer \(id) has failed permanently.\(reason) \(advice)")
        }
    }
}

extension TaskRecord {
    /// Whether the task waits for its next attempt after a failure.
    fileprivate var waitsAfterFailure: Bool {
        guard notBefore != nil, let reason = wait?.reason else { return false }
        return reason.followsFailure || reason == .slow
    }
}
