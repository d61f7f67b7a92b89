import Foundation
package import NightshiftAPI
import Store

/// "The server is back, now": what waits after a failure tries at once.
extension TransferService {
    /// Ends the wait of one task after a failure, and every pause on its way to its origin.
    ///
    /// One that runs, or waits for something else, is left as it is.
    package func retry(_ id: TaskID) async throws(Problem) -> TaskStatus {
        let answer = try await retry(RetryRequest(tasks: [id]))
        if let refusal = answer.refused.first { throw refusal.problem }
        return try await task(id)
    }

    /// The same for many tasks, or for all that wait after a failure. What is refused for one does not keep it from others.
    package func retry(_ request: RetryRequest) async throws(Problem) -> RetryResponse {
        guard let tasks = request.tasks else { return try await retryAll() }
        guard (1...Limits.tasksPerRequest).contains(tasks.count) else {
            throw .invalid("A request has 1 to \(Limits.tasksPerRequest) tasks.", pointer: "/tasks")
        }
        try RequestRules.check(tasks)
        let now = now
        // What runs needs no help, and its row is its transfer's to write.
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
        await pump()
        return response
    }

    private func retryAll() async throws(Problem) -> RetryResponse {
        let now = now
        let count = try await change { transaction -> Result<Int, Problem> in
            let count = try transaction.endAllWaits()
            let detail = count == 1 ? "1 task." : "\(count) tasks."
            try transaction.record(JournalEntry(time: now.date, decision: .retried, detail: detail))
            return .success(count)
        }
        hosts.forgetAll()
        await pump()
        return RetryResponse(count: count)
    }

    /// Why a task cannot be tried again; nil where it can, or needs no help.
    private static func refusal(_ record: TaskRecord) -> Problem? {
        let id = record.id
        switch record.state {
        case .waiting, .running, .finishing: return nil
        case .suspended: return .conflict("Task \(id) is suspended; it tries again when it is resumed.")
        case .completed: return .conflict("Task \(id) is complete.")
        case .cancelled:
            return .conflict(
                record.resumeData == nil
                    ? "Task \(id) was cancelled; add a new one."
                    : "Task \(id) was cancelled. A new task continues it from its resume data.")
        case .failed where record.app != nil:
            return .conflict("The app of task \(id) was told that it failed; trying again is for the app.")
        case .failed:
            let reason = record.error.map { " \($0.message)" } ?? ""
            let advice =
                record.kind == .upload
                ? "Add it again."
                : "To begin it again with what is here, give it a URL, the same one too: nightshift retarget \(id) URL"
            return .conflict("Task \(id) has failed for good.\(reason) \(advice)")
        }
    }
}

extension TaskRecord {
    /// Whether it waits for its next attempt because the last one failed.
    fileprivate var waitsAfterFailure: Bool {
        guard notBefore != nil, let reason = wait?.reason else { return false }
        return reason.followsFailure || reason == .slow
    }
}
