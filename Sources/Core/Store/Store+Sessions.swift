import GRDB
package import NightshiftAPI

extension StoreTransaction {
    /// Creates the session or replaces its settings. Its owner stays the same.
    package func putSession(_ id: SessionID, _ settings: SessionSettings) throws {
        try db.execute(
            sql: """
                INSERT INTO sessions (identifier, settings, connections) VALUES (?1, ?2, ?3)
                ON CONFLICT (identifier) DO UPDATE SET settings = excluded.settings,
                    connections = excluded.connections, launch_events = iif(app IS NULL, 0, ?4)
                """,
            arguments: [
                id.rawValue, try Columns.encode(settings), settings.httpMaximumConnectionsPerHost,
                settings.sessionSendsLaunchEvents,
            ])
    }

    /// Creates the session that `app` calls `name`, or replaces its settings. Returns the number of its next task.
    package func putSession(_ app: AppID, _ name: String, _ settings: SessionSettings) throws -> Int64 {
        let id = SessionID(app: app, identifier: name)
        try db.execute(
            sql: """
                INSERT INTO sessions (identifier, app, name, settings, connections, launch_events)
                VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (identifier) DO UPDATE SET settings = excluded.settings, app = excluded.app,
                    name = excluded.name, connections = excluded.connections, launch_events = excluded.launch_events
                """,
            arguments: [
                id.rawValue, app.rawValue, name, try Columns.encode(settings), settings.httpMaximumConnectionsPerHost,
                settings.sessionSendsLaunchEvents,
            ])
        return try sessionRow(id).nextTaskIdentifier
    }

    /// Assigns a session to the app whose id it contains, if the session was created without an owner.
    package func claimSession(_ app: AppID, _ name: String) throws {
        let id = SessionID(app: app, identifier: name)
        guard let settings = try sessionSettings(id) else { return }
        try db.execute(
            sql: "UPDATE sessions SET app = ?, name = ?, launch_events = ? WHERE identifier = ? AND app IS NULL",
            arguments: [app.rawValue, name, settings.sessionSendsLaunchEvents, id.rawValue])
    }

    /// Returns the names that the app uses for its sessions, in the order of creation.
    package func sessionNames(of app: AppID) throws -> [String] {
        try String.fetchAll(
            db, sql: "SELECT name FROM sessions WHERE app = ? ORDER BY id", arguments: [app.rawValue])
    }

    /// Returns the settings of the session; nil if it does not exist. If the settings are unreadable, the defaults are
    /// returned: see ``sessions(_:)``.
    package func sessionSettings(_ id: SessionID) throws -> SessionSettings? {
        let text = try String.fetchOne(
            db.cachedStatement(sql: "SELECT settings FROM sessions WHERE identifier = ?"), arguments: [id.rawValue])
        return text.map { Self.settings($0).value }
    }

    /// Returns sessions with unreadable settings.
    package func unreadableSessions() throws -> [(id: SessionID, reason: String)] {
        try Row.fetchAll(db, sql: "SELECT identifier, settings FROM sessions ORDER BY id").compactMap { row in
            Self.settings(row["settings"]).objection.map { (SessionID(rawValue: row["identifier"]), $0) }
        }
    }

    private static func settings(_ text: String) -> (value: SessionSettings, objection: String?) {
        do {
            return (try Columns.decode(SessionSettings.self, text), nil)
        } catch {
            return (SessionSettings(), Columns.words(for: error))
        }
    }

    /// Returns every session with the numbers of its tasks, in the order of creation.
    package func sessions(_ id: SessionID? = nil) throws -> [SessionStatus] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT identifier, app, name, settings,
                    (SELECT count(*) FROM tasks WHERE session = sessions.id) AS tasks,
                    (SELECT count(*) FROM tasks WHERE session = sessions.id AND ended_at IS NULL) AS active
                FROM sessions WHERE ?1 IS NULL OR identifier = ?1 ORDER BY id
                """, arguments: [id?.rawValue])
        return rows.map {
            let settings = Self.settings($0["settings"])
            var status = SessionStatus(
                id: SessionID(rawValue: $0["identifier"]), settings: settings.value,
                activeTasks: $0["active"], tasks: $0["tasks"])
            status.unreadable = settings.objection
            status.app = ($0["app"] as String?).map(AppID.init(rawValue:))
            status.name = $0["name"]
            return status
        }
    }

    package func sessionCount() throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM sessions") ?? 0
    }

    /// Deletes the session and its tasks.
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
