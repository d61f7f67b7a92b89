import Clock
import Logging
import NightshiftAPI
import Store

/// The one way in which the service changes a task's state and writes it down.
extension TransferService {
    /// Changes a task as `event` says. Call it only where the event is possible: where it may have lost its meaning, ask
    /// ``TaskRecord/allows(_:)`` first.
    ///
    /// What is not possible is logged, fails that one task, and ends its exchange: see ``TaskRecord/transition(_:now:onFault:)``.
    ///
    /// - Returns: the journal entries that belong to it.
    nonisolated func apply(
        _ event: TaskEvent, to record: inout TaskRecord, now: ClockReading
    ) -> [JournalEntry] {
        let id = record.id
        return record.transition(event, now: now) { fault in
            report(fault, of: id)
            reporting.yield { await $0.interrupt(id, .starting) }
        }
    }

    /// Writes a task down together with its entries; false when that failed, which is dealt with.
    func save(_ record: TaskRecord, _ entries: [JournalEntry]) async -> Bool {
        await save([(record, entries)])
    }

    /// The same for many tasks, in one transaction.
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
            "A task met an event that its state has no exit for",
            metadata: ["task": "\(task)", "state": "\(fault.state.rawValue)", "event": "\(fault.event.name)"])
    }
}
