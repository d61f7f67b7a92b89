package import Foundation
import GRDB
package import NightshiftAPI

/// The device requirements of tasks. They are written separately, so that saving a running task does not undo a change.
extension StoreTransaction {
    /// Writes a task's requirements, and the time at which they are relaxed.
    package func putRules(_ record: TaskRecord) throws {
        try db.cachedStatement(
            sql: "UPDATE tasks SET rules = ?, loosens_at = ?, discretion_forced = ? WHERE id = ?"
        ).execute(arguments: [record.rules.code, record.relaxesAt, record.isDiscretionForced, record.id.rawValue])
    }

    /// Returns tasks whose requirements must be relaxed. The task that has been due for the longest time comes first.
    package func tasksToLoosen(bootSeconds: Double, limit: Int) throws -> [TaskRecord] {
        try fetchTasks(
            "WHERE tasks.state = 'waiting' AND tasks.loosens_at <= ? ORDER BY tasks.loosens_at LIMIT ?",
            [bootSeconds, limit])
    }

    /// Unblocks the tasks of an app that were blocked because the app was in the background. This must be called in the
    /// transaction that records that the app is in the foreground. A task that is added later then counts as added in
    /// the foreground.
    package func liftHolds(of app: AppID, at time: Date) throws {
        try endStartDelay(of: app)
        let lifted = try liftForcedDiscretion(of: app)
        guard lifted > 0 else { return }
        try record(.conditionsLifted(of: app, tasks: lifted, at: time))
    }

    /// Ends the pauses of an app's tasks that were delayed because the app was woken often.
    package func endStartDelay(of app: AppID) throws {
        try db.execute(
            sql: """
                UPDATE tasks SET not_before = NULL, wait_reason = NULL, wait_since = NULL, wait_detail = NULL
                WHERE state = 'waiting' AND wait_reason = 'relaunchDelay'
                    AND session IN (SELECT id FROM sessions WHERE app = ?)
                """, arguments: [app.rawValue])
    }

    /// Makes an app's tasks ordinary ones again if they are discretionary only because the app added them in the
    /// background.
    ///
    /// - Returns: The number of these tasks.
    package func liftForcedDiscretion(of app: AppID) throws -> Int {
        let condition = """
            discretion_forced AND ended_at IS NULL AND session IN (SELECT id FROM sessions WHERE app = ?)
            """
        // The index is named because SQLite would otherwise choose the index of all unfinished tasks.
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
