package import Foundation
import GRDB
package import NightshiftAPI

/// The conditions that tasks need of the device. Only the rows have them, so that a running task can be saved without
/// undoing a change.
extension StoreTransaction {
    /// Writes what a task needs, and when it needs less.
    package func putRules(_ record: TaskRecord) throws {
        try db.cachedStatement(
            sql: "UPDATE tasks SET rules = ?, loosens_at = ?, discretion_forced = ? WHERE id = ?"
        ).execute(arguments: [record.rules.code, record.loosensAt, record.isDiscretionForced, record.id.rawValue])
    }

    /// Tasks whose time has come to need less, the longest due first.
    package func tasksToLoosen(bootSeconds: Double, limit: Int) throws -> [TaskRecord] {
        try fetchTasks(
            "WHERE tasks.state = 'waiting' AND tasks.loosens_at <= ? ORDER BY tasks.loosens_at LIMIT ?",
            [bootSeconds, limit])
    }

    /// Lets an app's tasks start that were held back because it was in the background. Its user is back: this belongs into
    /// the transaction that says so, and then a task added later is added by an app in front.
    package func liftHolds(of app: AppID, at time: Date) throws {
        try endStartDelay(of: app)
        let lifted = try liftForcedDiscretion(of: app)
        guard lifted > 0 else { return }
        try record(.conditionsLifted(of: app, tasks: lifted, at: time))
    }

    /// Ends the pauses of an app's tasks that were held back because it was woken often.
    package func endStartDelay(of app: AppID) throws {
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL, wait_reason = NULL, wait_since = NULL, wait_detail = NULL
                WHERE state = 'waiting' AND wait_reason = 'relaunchDelay'
                    AND session IN (SELECT id FROM sessions WHERE app = ?)
                """, arguments: [app.rawValue])
    }

    /// Lets an app's tasks that wait for a good moment only because it added them in the background wait for none.
    ///
    /// - Returns: how many these were.
    package func liftForcedDiscretion(of app: AppID) throws -> Int {
        let condition = """
            discretion_forced AND ended_at IS NULL AND session IN (SELECT id FROM sessions WHERE app = ?)
            """
        // By itself SQLite would choose the index of all tasks that have not ended.
        let tasks = "tasks INDEXED BY tasks_discretion_forced"
        let codes = try Int64.fetchAll(
            db, sql: "SELECT DISTINCT rules FROM \(tasks) WHERE \(condition)", arguments: [app.rawValue])
        var lifted = 0
        for code in codes {
            var rules = TransferRules(code: code) ?? TransferRules()
            rules.discretion = .none
            try db.execute(
                sql: """
                    UPDATE \(tasks) SET rules = ?, loosens_at = NULL, discretion_forced = 0
                    WHERE rules = ? AND \(condition)
                    """, arguments: [rules.code, code, app.rawValue])
            lifted += db.changesCount
        }
        return lifted
    }
}
