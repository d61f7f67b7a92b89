import Clock
import Logging
import NightshiftAPI
import Store

/// The only code in the service that changes a task's state and commits it.
extension TransferService {
    /// Applies `event` to a task. Call this function only where the event is legal. If the event may have become
    /// obsolete, check ``TaskRecord/allows(_:)`` first.
    ///
    /// An illegal event is logged, fails only this task, and ends its exchange: see
    /// ``TaskRecord/transition(_:now:onFault:)``.
    ///
    /// - Returns: the journal entries of the transition.
    nonisolated func apply(
        _ event: TaskEvent, to record: inout TaskRecord, now: ClockReading
    ) -> [JournalEntry] {
        let id = record.id
        return record.transition(event, now: now) { fault in
            report(fault, of: id)
            reporting.yield { await $0.interrupt(id, .starting) }
        }
    }

    /// Commits a task together with its entries. Handles a failure, and then returns false.
    func save(_ record: TaskRecord, _ entries: [JournalEntry]) async -> Bool {
        await save([(record, entries)])
    }

    /// Commits many tasks with their entries in one transaction.
    func save(
        _ changes: [(record: TaskRecord, entries: [JournalEntry])],
        also: @escaping @Sendable (StoreTransaction) throws -> Void = { _ in }
    ) async -> Bool {
        let now = now
        do {
            try await store.write { transaction in
                for (record, entries) in changes {
                    try transaction.update(record)
                    for entry in entries { try transaction.record(entry) }
                }
                try also(transaction)
                try transaction.putClock(now)
            }
            return true
        } catch {
            storeFailed(error)
            return false
        }
    }

    nonisolated func report(_ fault: IllegalTransition, of task: TaskID) {
        logger.critical(
            "A transfer received an event that its state does not allow",
            metadata: ["task": "\(task)", "state": "\(fault.state.rawValue)", "event": "\(fault.event.name)"])
    }
}
