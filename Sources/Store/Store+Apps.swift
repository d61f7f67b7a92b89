import GRDB
package import NightshiftAPI

/// Why an app has to be woken, as its sessions' rows say.
package struct WantedWake: Hashable, Sendable, Codable {
    package var app: AppID
    /// The session, as the app calls it.
    package var session: String
    package var reason: WakeReason
    /// The last message of the session.
    package var through: Int64

    package init(app: AppID, session: String, reason: WakeReason, through: Int64) {
        self.app = app
        self.session = session
        self.reason = reason
        self.through = through
    }
}

extension StoreTransaction {
    package func apps() throws -> [AppRecord] {
        try String.fetchAll(db, sql: "SELECT record FROM apps ORDER BY id").map {
            try Columns.decode(AppRecord.self, $0)
        }
    }

    package func app(_ id: AppID) throws -> AppRecord? {
        let text = try String.fetchOne(
            db.cachedStatement(sql: "SELECT record FROM apps WHERE id = ?"), arguments: [id.rawValue])
        return try Columns.decodeIfPresent(AppRecord.self, text)
    }

    package func put(_ record: AppRecord) throws {
        try db.cachedStatement(
            sql: "INSERT INTO apps (id, record) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET record = ?2"
        ).execute(arguments: [record.id.rawValue, try Columns.encode(record)])
    }

    package func deleteApp(_ id: AppID) throws {
        try db.execute(sql: "DELETE FROM apps WHERE id = ?", arguments: [id.rawValue])
    }

    /// Every reason to wake an app: a session with messages that it was not woken for yet, of which none of the tasks goes on
    /// or one waits for an answer.
    package func wantedWakes() throws -> [WantedWake] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT sessions.app AS app, sessions.name AS name, max(messages.id) AS through,
                        max(messages.kind = 'challenge') AS challenged, max(messages.kind = 'delayedRequest') AS delayed
                    FROM sessions JOIN messages ON messages.session = sessions.id
                    WHERE sessions.app IS NOT NULL AND sessions.launch_events
                    GROUP BY sessions.id
                    HAVING through > sessions.woken_through AND (challenged OR delayed OR NOT EXISTS (
                        SELECT 1 FROM tasks WHERE tasks.session = sessions.id AND tasks.ended_at IS NULL
                            AND tasks.state <> 'suspended'))
                    ORDER BY sessions.id
                    """))
        return rows.map { row in
            let reason: WakeReason =
                if row["challenged"] { .challenge } else if row["delayed"] { .delayedRequest } else { .sessionEvents }
            return WantedWake(
                app: AppID(rawValue: row["app"]), session: row["name"], reason: reason, through: row["through"])
        }
    }

    /// Notes that an app has finished a wake for the messages of its session up to `through`.
    package func finishWake(_ session: SessionID, through: Int64) throws {
        try db.execute(
            sql: "UPDATE sessions SET woken_through = max(woken_through, ?) WHERE identifier = ?",
            arguments: [through, session.rawValue])
    }
}
