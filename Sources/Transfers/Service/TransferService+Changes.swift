package import NightshiftAPI
import Store

/// Changes that owners make to tasks that have not ended, including running tasks.
extension TransferService {
    package func change(_ id: TaskID, _ change: TaskChange) async throws(Problem) -> TaskStatus {
        try RequestRules.check(change, pointer: "")
        let outcomes = try await self.change(each: [id], change)
        guard let outcome = outcomes.first?.1 else { throw Self.noTask(id) }
        return status(of: try outcome.get())
    }

    /// Makes the same change to each task, in one transaction. If the change is refused for one task, the other tasks
    /// still get the change.
    ///
    /// - Returns: the results, in the order of `ids`.
    func change(
        each ids: [TaskID], _ change: TaskChange
    ) async throws(Problem) -> [(TaskID, Result<TaskRecord, Problem>)] {
        // A task that starts during the change would start with its old values, so the start of all these tasks is
        // blocked.
        for id in ids { claims.hold(id) }
        for id in ids { await started(id) }
        let written: Result<[(TaskID, Result<TaskRecord, Problem>)], Problem>
        do throws(Problem) {
            written = .success(try await write(change, ids))
        } catch {
            written = .failure(error)
        }
        for id in ids { claims.letGo(id) }
        if case .success(let outcomes) = written {
            for case (let id, .success(let record)) in outcomes { apply(change, id, record) }
        }
        await schedule()
        return try written.get()
    }

    private func write(
        _ change: TaskChange, _ ids: [TaskID]
    ) async throws(Problem) -> [(TaskID, Result<TaskRecord, Problem>)] {
        let now = now
        return try await self.change { transaction -> Result<[(TaskID, Result<TaskRecord, Problem>)], Problem> in
            .success(try ids.map { ($0, try Self.write(change, $0, now, in: transaction)) })
        }
    }

    private static func write(
        _ change: TaskChange, _ id: TaskID, _ now: ClockReading, in transaction: StoreTransaction
    ) throws -> Result<TaskRecord, Problem> {
        let found: TaskRecord?
        do {
            found = try transaction.task(id)
        } catch let error as StoreError where error.code == .unreadable {
            return .failure(Problem(error))
        }
        guard var record = found else { return .failure(noTask(id)) }
        guard !record.state.isTerminal else {
            return .failure(.conflict("Transfer \(id) is \(record.state.rawValue)."))
        }
        record.apply(change)
        try transaction.putWishes(record)
        try transaction.record(JournalEntry(time: now.date, decision: .changed, task: id))
        return .success(record)
    }

    /// Applies the change to the running transfer of a task, so that the transfer agrees with its row.
    private func apply(_ change: TaskChange, _ id: TaskID, _ record: TaskRecord) {
        guard let transfer = active[id] else { return }
        noteStart(id)
        transfer.wishes.apply(record)
        active[id]?.record.apply(change)
        if change.rateLimit != nil { shareRate(id) }
    }

    /// Waits until no start of the task is in progress.
    private func started(_ id: TaskID) async {
        while claims.isStarting(id) {
            await withCheckedContinuation { claims.add($0, for: id) }
        }
    }
}

extension TaskRecord {
    fileprivate mutating func apply(_ change: TaskChange) {
        priority = change.priority ?? priority
        if let limit = change.rateLimit { request.rateLimit = limit == 0 ? nil : limit }
        request.description = change.description ?? request.description
    }
}
