import Foundation
import GRDB
package import NightshiftAPI

extension StoreTransaction {
    /// Writes a decision to the journal. If the journal then has more than ``Limits/journalEntries`` entries, the
    /// oldest are deleted.
    package func record(_ entry: JournalEntry) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO journal
                    (time, decision, task, session, app, wait_reason, wait_since, wait_until, error, detail,
                    inputs)
                VALUES (?, ?, ?, (SELECT session FROM tasks WHERE id = ?), ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            entry.time.timeIntervalSince1970, entry.decision.rawValue, entry.task?.rawValue, entry.task?.rawValue,
            entry.app?.rawValue, entry.wait?.reason.rawValue, entry.wait?.since.timeIntervalSince1970,
            entry.wait?.until?.timeIntervalSince1970,
            try Columns.encodeIfPresent(entry.error), entry.wait?.detail ?? entry.detail,
            try Columns.encodeIfPresent(entry.inputs),
        ])
        let id = db.lastInsertedRowID
        if id % 1_024 == 0 {
            try db.execute(sql: "DELETE FROM journal WHERE id <= ?", arguments: [id - Int64(Limits.journalEntries)])
        }
    }

    /// Returns the entries after an id, with the oldest first. The optional filters are tasks, a session, an app with
    /// the tasks of its sessions, and a start time in seconds since 1970.
    package func journal(
        after: Int64, tasks: Set<TaskID>? = nil, session: SessionID? = nil, app: AppID? = nil, since: Double? = nil,
        limit: Int
    ) throws -> [JournalEntry] {
        var conditions = ["id > ?"]
        var arguments: StatementArguments = [after]
        if let tasks {
            conditions.append("task IN (\(tasks.map { _ in "?" }.joined(separator: ", ")))")
            arguments += StatementArguments(tasks.map(\.rawValue))
        }
        if let session {
            conditions.append("session = (SELECT id FROM sessions WHERE identifier = ?)")
            arguments += [session.rawValue]
        }
        if let app {
            conditions.append("(app = ? OR session IN (SELECT id FROM sessions WHERE app = ?))")
            arguments += [app.rawValue, app.rawValue]
        }
        if let since {
            // The clock may have been set back, so an entry is treated as at least as late as the entries before it.
            conditions.append("id >= (SELECT min(id) FROM journal WHERE time >= ?)")
            arguments += [since]
        }
        arguments += [limit]
        let rows = try Row.fetchAll(
            db, sql: "\(Self.entries) WHERE \(conditions.joined(separator: " AND ")) ORDER BY id LIMIT ?",
            arguments: arguments)
        return try rows.map(Self.entry)
    }

    /// Returns the last entries of a task, with the oldest first.
    package func history(of task: TaskID, limit: Int) throws -> [JournalEntry] {
        let rows = try Row.fetchAll(
            db, sql: "\(Self.entries) WHERE task = ? ORDER BY id DESC LIMIT ?",
            arguments: [task.rawValue, limit])
        return try rows.reversed().map(Self.entry)
    }

    /// Returns the last entries about an app, with the oldest first.
    package func history(of app: AppID, limit: Int) throws -> [JournalEntry] {
        let rows = try Row.fetchAll(
            db, sql: "\(Self.entries) WHERE app = ? ORDER BY id DESC LIMIT ?", arguments: [app.rawValue, limit])
        return try rows.reversed().map(Self.entry)
    }

    /// Returns the id of the oldest stored entry; nil if the journal is empty.
    package func firstJournalEntry() throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT min(id) FROM journal")
    }

    package func lastJournalEntry() throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = 'journal'")) ?? 0
    }

    /// The query of entries, with the app that owns the task.
    private static let entries =
        "SELECT *, (SELECT sessions.app FROM sessions WHERE sessions.id = journal.session) AS owner FROM journal"

    private static func entry(_ row: Row) throws -> JournalEntry {
        // An unreadable entry is returned in its place, so that other entries stay readable.
        let decision = Decision(rawValue: row["decision"]) ?? .unreadable
        var wait: Wait?
        let detail: String? = row["detail"]
        if let reason = (row["wait_reason"] as String?).flatMap(WaitReason.init(rawValue:)) {
            wait = Wait(
                reason: reason, since: Date(timeIntervalSince1970: row["wait_since"] ?? row["time"]),
                until: (row["wait_until"] as Double?).map(Date.init(timeIntervalSince1970:)), detail: detail)
        }
        return JournalEntry(
            id: row["id"], time: Date(timeIntervalSince1970: row["time"]), decision: decision,
            task: (row["task"] as Int64?).map { TaskID($0) },
            app: (row["app"] as String? ?? row["owner"]).map(AppID.init(rawValue:)), wait: wait,
            error: try? Columns.decodeIfPresent(TransferFailure.self, row["error"]), detail: wait == nil ? detail : nil,
            inputs: try? Columns.decodeIfPresent([String: String].self, row["inputs"]))
    }
}
