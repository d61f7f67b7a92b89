import Clock
import Logging
import NightshiftAPI
import Store

/// The one way in which the service changes a task's state.
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

    nonisolated func report(_ fault: IllegalTransition, of task: TaskID) {
        logger.critical(
            "A task met an event that its state has no exit for",
            metadata: ["task": "\(task)", "state": "\(fault.state.rawValue)", "event": "\(fault.event.name)"])
    }
}
