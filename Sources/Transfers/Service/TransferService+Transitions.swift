import Logging
import NightshiftAPI
import Store

/// The one way in which the service changes a task's state.
extension TransferService {
    /// Changes a task as `event` says. Call it only where the event is possible: where it may have lost its meaning, ask
    /// ``TaskRecord/allows(_:)`` first.
    ///
    /// An event that is not possible is a mistake of this service's. Debug builds stop there. Others fail that one task, end its
    /// exchange, and log it: `record` is a failed one then, to be written down as any other.
    ///
    /// - Returns: the journal entries that belong to it.
    nonisolated func apply(
        _ event: TaskEvent, to record: inout TaskRecord, now: ClockReading
    ) -> [JournalEntry] {
        do throws(IllegalTransition) {
            return try record.apply(event, now: now)
        } catch {
            let id = record.id
            logger.critical(
                "A task met an event that its state has no exit for",
                metadata: ["task": "\(id)", "state": "\(error.state.rawValue)", "event": "\(error.event.name)"])
            assertionFailure("Task \(id) met '\(error.event.name)' where it was \(error.state.rawValue).")
            reporting.yield { await $0.interrupt(id, .starting) }
            return record.failInternally(error, now: now)
        }
    }
}
