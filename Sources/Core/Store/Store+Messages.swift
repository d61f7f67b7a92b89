import GRDB
package import NightshiftAPI

/// A stored message without its content, which is in the row of its task.
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

/// A row of a message, readable or not.
package struct MessageRow: Sendable {
    package var id: Int64
    /// The kind of the message; nil if this version does not know it.
    package var kind: SessionMessage.Kind?
    /// The message; nil if its content or its task is unreadable. Other messages stay readable.
    package var message: StoredMessage?
}

extension StoreTransaction {
    /// Returns the session's readable messages after an id, in order.
    package func messages(_ session: SessionID, after: Int64, limit: Int) throws -> [StoredMessage] {
        try messageRows(session, after: after, limit: limit).compactMap(\.message)
    }

    /// Returns all rows of the session's messages after an id, in order, including unreadable ones.
    package func messageRows(_ session: SessionID, after: Int64, limit: Int) throws -> [MessageRow] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT messages.* FROM messages JOIN sessions ON sessions.id = messages.session
                    WHERE sessions.identifier = ? AND messages.id > ? ORDER BY messages.id LIMIT ?
                    """), arguments: [session.rawValue, after, limit])
        return try rows.map(messageRow)
    }

    /// Returns a message of a session; nil if it does not exist.
    ///
    /// - Throws: ``StoreError`` of code ``StoreError/Code/unreadable`` if the message is invalid.
    package func message(_ id: Int64, of session: SessionID) throws -> StoredMessage? {
        guard let row = try messageRow(id, of: session) else { return nil }
        guard let message = row.message else { throw StoreError(.unreadable, "Message \(id) cannot be read.") }
        return message
    }

    package func messageRow(_ id: Int64, of session: SessionID) throws -> MessageRow? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT messages.* FROM messages JOIN sessions ON sessions.id = messages.session
                    WHERE sessions.identifier = ? AND messages.id = ?
                    """), arguments: [session.rawValue, id])
        return try row.map(messageRow)
    }

    /// Adds a challenge to the task's app. If the same challenge is already pending in the session, this function adds
    /// nothing, and the task waits for the answer to the pending challenge.
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

    /// Deletes the unanswered questions to the app about this task.
    package func deleteQuestions(_ task: TaskID) throws {
        try db.execute(
            sql: "DELETE FROM messages WHERE task = ? AND kind IN ('challenge', 'delayedRequest')",
            arguments: [task.rawValue])
    }

    /// Returns whether messages about the task are pending for its app.
    package func hasMessages(_ task: TaskID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM messages WHERE task = ?)"),
            arguments: [task.rawValue]) ?? false
    }

    func lastMessage() throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = 'messages'")) ?? 0
    }

    private func messageRow(_ row: Row) throws -> MessageRow {
        var read = MessageRow(id: row["id"], kind: SessionMessage.Kind(rawValue: row["kind"]))
        guard let kind = read.kind, let task = try readableTask(TaskID(row["task"])) else { return read }
        let challenge: Challenge?
        do {
            challenge = try Columns.decodeIfPresent(Challenge.self, row["challenge"])
        } catch {
            return read
        }
        read.message = StoredMessage(id: read.id, kind: kind, task: task, challenge: challenge)
        return read
    }
}
