import Logging
import NightshiftAPI
import Store

/// Rows that cannot be read. They are recorded in the journal and do not block others.
extension Store {
    /// Reports the sessions that use default settings because their own settings are invalid.
    func reportUnreadableSessions(_ now: ClockReading, _ logger: Logger) async throws(StoreError) {
        let sessions = try await read { try $0.unreadableSessions() }
        guard !sessions.isEmpty else { return }
        let words = sessions.map {
            "The settings of session '\($0.id)' are invalid: \($0.reason) The default settings are used."
        }
        for detail in words { logger.error("A row cannot be read", metadata: ["row": "\(detail)"]) }
        try await write { transaction in
            for detail in words {
                try transaction.record(JournalEntry(time: now.date, decision: .unreadable, detail: detail))
            }
        }
    }

    /// Removes tasks with invalid rows from the queue.
    func setAsideUnreadable(_ now: ClockReading, _ logger: Logger) async throws(StoreError) {
        let tasks = unreadable.takeFresh()
        guard !tasks.isEmpty else { return }
        for task in tasks {
            logger.error("A transfer cannot be read", metadata: ["task": "\(task.id)", "reason": "\(task.reason)"])
        }
        do throws(StoreError) {
            try await write { transaction in
                try transaction.setAside(tasks)
                for task in tasks {
                    try transaction.record(
                        JournalEntry(time: now.date, decision: .unreadable, task: task.id, detail: task.reason))
                }
            }
        } catch {
            unreadable.putBack(tasks)
            throw error
        }
    }
}
