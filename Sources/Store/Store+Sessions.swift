import GRDB
package import NightshiftAPI

extension StoreTransaction {
    /// Makes the session or replaces its settings.
    package func putSession(_ id: SessionID, _ settings: SessionSettings) throws {
        try db.execute(
            sql: """
                INSERT INTO sessions (identifier, settings) VALUES (?, ?)
                ON CONFLICT (identifier) DO UPDATE SET settings = excluded.settings
                """, arguments: [id.rawValue, try Columns.encode(settings)])
    }

    package func sessionSettings(_ id: SessionID) throws -> SessionSettings? {
        let text = try String.fetchOne(
            db.cachedStatement(sql: "SELECT settings FROM sessions WHERE identifier = ?"), arguments: [id.rawValue])
        return try Columns.decodeIfPresent(SessionSettings.self, text)
    }

    /// Every session with its numbers of tasks, in the order they were made.
    package func sessions(_ id: SessionID? = nil) throws -> [SessionStatus] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT identifier, settings,
                    (SELECT count(*) FROM tasks WHERE session = sessions.id) AS tasks,
                    (SELECT count(*) FROM tasks WHERE session = sessions.id AND ended_at IS NULL) AS active
                FROM sessions WHERE ?1 IS NULL OR identifier = ?1 ORDER BY id
                """, arguments: [id?.rawValue])
        return try rows.map {
            SessionStatus(
                id: SessionID(rawValue: $0["identifier"]),
                settings: try Columns.decode(SessionSettings.self, $0["settings"]),
                activeTasks: $0["active"], tasks: $0["tasks"])
        }
    }

    package func sessionCount() throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM sessions") ?? 0
    }

    /// Forgets the session and every task of it.
    package func deleteSession(_ id: SessionID) throws {
        try db.execute(sql: "DELETE FROM sessions WHERE identifier = ?", arguments: [id.rawValue])
    }

    func sessionRow(_ id: SessionID) throws -> (id: Int64, nextTaskIdentifier: Int64) {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT id, next_task_identifier FROM sessions WHERE identifier = ?"),
            arguments: [id.rawValue])
        guard let row else { throw StoreError(.constraint, "There is no session '\(id)'.") }
        return (row["id"], row["next_task_identifier"])
    }
}
