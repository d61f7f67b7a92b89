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
    package func ask(_ task: TaskRecord, _ challenge: Challenge) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO messages (session, task, kind, challenge)
                SELECT session, id, 'challenge', ?1 FROM tasks WHERE id = ?2 AND NOT EXISTS (
                    SELECT 1 FROM messages AS asked
                    WHERE asked.session = tasks.session AND asked.kind = 'challenge' AND asked.task <> tasks.id
                        AND json_extract(asked.challenge, '$.method') = json_extract(?1, '$.method')
                        AND json_extract(asked.challenge, '$.scheme') = json_extract(?1, '$.scheme')
                        AND json_extract(asked.challenge, '$.host') = json_extract(?1, '$.host')
                        AND json_extract(asked.challenge, '$.port') = json_extract(?1, '$.port')
                        AND json_extract(asked.challenge, '$.realm') IS json_extract(?1, '$.realm')
                        AND json_extract(asked.challenge, '$.isProxy') = json_extract(?1, '$.isProxy'))
                ON CONFLICT (task, kind) DO UPDATE SET challenge = excluded.challenge
                """
        ).execute(arguments: [try Columns.encode(challenge), task.id.rawValue])
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
