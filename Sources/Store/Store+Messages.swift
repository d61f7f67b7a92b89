import GRDB
package import NightshiftAPI

/// A message as the store keeps it; what it tells is in its task's row.
package struct StoredMessage: Hashable, Sendable {
    package var id: Int64
    package var kind: SessionMessage.Kind
    package var task: TaskRecord
    package var challenge: Challenge?

    package init(id: Int64, kind: SessionMessage.Kind, task: TaskRecord, challenge: Challenge?) {
        self.id = id
        self.kind = kind
        self.task = task
        self.challenge = challenge
    }
}

extension StoreTransaction {
    /// The session's messages after an id, in order.
    package func messages(_ session: SessionID, after: Int64, limit: Int) throws -> [StoredMessage] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT messages.* FROM messages JOIN sessions ON sessions.id = messages.session
                    WHERE sessions.identifier = ? AND messages.id > ? ORDER BY messages.id LIMIT ?
                    """), arguments: [session.rawValue, after, limit])
        return try rows.map(message)
    }

    package func message(_ id: Int64, of session: SessionID) throws -> StoredMessage? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT messages.* FROM messages JOIN sessions ON sessions.id = messages.session
                    WHERE sessions.identifier = ? AND messages.id = ?
                    """), arguments: [session.rawValue, id])
        return try row.map(message)
    }

    /// Asks the task's app, unless the same is asked in its session already: then the task waits for that answer.
    package func putChallenge(of task: TaskRecord, _ challenge: Challenge) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO messages (session, task, kind, challenge, method, scheme, host, port, realm, is_proxy)
                SELECT session, id, 'challenge', ?1, ?3, ?4, ?5, ?6, ?7, ?8 FROM tasks WHERE id = ?2 AND NOT EXISTS (
                    SELECT 1 FROM messages AS asked
                    WHERE asked.session = tasks.session AND asked.kind = 'challenge' AND asked.task <> tasks.id
                        AND asked.method = ?3 AND asked.scheme = ?4 AND asked.host = ?5 AND asked.port = ?6
                        AND asked.realm IS ?7 AND asked.is_proxy = ?8)
                ON CONFLICT (task, kind) DO UPDATE SET challenge = excluded.challenge, method = excluded.method,
                    scheme = excluded.scheme, host = excluded.host, port = excluded.port, realm = excluded.realm,
                    is_proxy = excluded.is_proxy
                """
        ).execute(arguments: [
            try Columns.encode(challenge), task.id.rawValue, challenge.method.rawValue, challenge.scheme,
            challenge.host, challenge.port, challenge.realm, challenge.isProxy,
        ])
    }

    package func deleteMessage(_ id: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM messages WHERE id = ?").execute(arguments: [id])
    }

    /// Takes back what the task's app was asked and has not answered.
    package func deleteQuestions(_ task: TaskID) throws {
        try db.execute(
            sql: "DELETE FROM messages WHERE task = ? AND kind IN ('challenge', 'delayedRequest')",
            arguments: [task.rawValue])
    }

    /// Whether the task's app has something to hear of it still.
    package func hasMessages(_ task: TaskID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM messages WHERE task = ?)"),
            arguments: [task.rawValue]) ?? false
    }

    func lastMessage() throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = 'messages'")) ?? 0
    }

    private func message(_ row: Row) throws -> StoredMessage {
        guard let kind = SessionMessage.Kind(rawValue: row["kind"]), let task = try task(TaskID(row["task"])) else {
            throw StoreError(.damaged, "Message \(row["id"] as Int64) cannot be read.")
        }
        return StoredMessage(
            id: row["id"], kind: kind, task: task,
            challenge: try Columns.decodeIfPresent(Challenge.self, row["challenge"]))
    }
}
