import GRDB
package import NightshiftAPI

/// The crash counts of tasks that were running when the service crashed: see `docs/decisions/0021`.
extension StoreTransaction {
    /// Returns the number of crashes for each task that was running at the time.
    package func faults() throws -> [TaskID: Int] {
        let rows = try Row.fetchAll(db, sql: "SELECT task, faults FROM starts")
        return rows.reduce(into: [:]) { $0[TaskID($1["task"])] = $1["faults"] }
    }

    /// Writes, for each unfinished task, the number of crashes during which it was running.
    package func putFaults(_ faults: [TaskID: Int]) throws {
        for (task, count) in faults {
            try db.execute(
                sql: """
                    INSERT INTO starts (task, faults) SELECT id, ? FROM tasks WHERE id = ? AND ended_at IS NULL
                    ON CONFLICT (task) DO UPDATE SET faults = excluded.faults
                    """, arguments: [count, task.rawValue])
        }
    }

    /// Clears the recorded crashes of these tasks.
    package func forgetFaults(_ tasks: Set<TaskID>) throws {
        for task in tasks {
            try db.execute(sql: "DELETE FROM starts WHERE task = ?", arguments: [task.rawValue])
        }
    }

    /// Suspends tasks with unreadable rows, so that the queue no longer returns them.
    package func setAside(_ tasks: [UnreadableTask]) throws {
        for task in tasks {
            try db.execute(
                sql: """
                    UPDATE tasks SET state = 'suspended', not_before = NULL, begin_at = NULL, loosens_at = NULL,
                        deadline = NULL
                    WHERE id = ? AND ended_at IS NULL
                    """, arguments: [task.id.rawValue])
        }
    }
}
