package import Foundation
import GRDB
package import NightshiftAPI

/// The query that runs for each commit with a message. It must not read tasks that have ended.
package enum WakeStatements {
    package static let sessions = sessions(where: "")
    static let sessionsOfApp = sessions(where: "AND sessions.app = ?")

    private static func sessions(where condition: String) -> String {
        """
        SELECT sessions.app AS app, sessions.name AS name, max(messages.id) AS through,
            max(messages.kind = 'challenge') AS challenged, max(messages.kind = 'delayedRequest') AS delayed
        FROM sessions JOIN messages ON messages.session = sessions.id
        WHERE sessions.app IS NOT NULL AND sessions.launch_events \(condition)
        GROUP BY sessions.id
        HAVING through > sessions.woken_through AND (challenged OR delayed OR NOT EXISTS (
            SELECT 1 FROM tasks WHERE tasks.session = sessions.id AND tasks.ended_at IS NULL
                AND tasks.state <> 'suspended'))
        ORDER BY sessions.id
        """
    }
}

/// The wakes that apps need. The wakes of sessions are derived from their messages. Other sources write rows in the
/// transaction of the event.
extension StoreTransaction {
    /// Returns every pending wake of every source.
    package func wantedWakes() throws -> [WantedWake] {
        try sessionWakes(Row.fetchAll(db.cachedStatement(sql: WakeStatements.sessions)))
            + rowWakes(Row.fetchAll(db.cachedStatement(sql: Self.rows(where: ""))))
    }

    /// Returns every pending wake of one app.
    package func wantedWakes(of app: AppID) throws -> [WantedWake] {
        try sessionWakes(
            Row.fetchAll(db.cachedStatement(sql: WakeStatements.sessionsOfApp), arguments: [app.rawValue]))
            + rowWakes(
                Row.fetchAll(db.cachedStatement(sql: Self.rows(where: "WHERE app = ?")), arguments: [app.rawValue]))
    }

    /// Records that a wake is finished. The app is woken again only for later events.
    ///
    /// - Parameter end: The result, if a feature uses it. The result is written in the same transaction.
    package func finishWake(_ wake: WantedWake, _ end: WakeEnd? = nil) throws {
        if let end, wake.source.rules.hasResult { try putWakeEnd(wake, end) }
        guard wake.source != .session else {
            return try finishWake(SessionID(app: wake.app, identifier: wake.key), through: wake.through)
        }
        try db.cachedStatement(sql: "DELETE FROM wakes WHERE app = ? AND source = ? AND key = ? AND id <= ?")
            .execute(arguments: [wake.app.rawValue, wake.source.rawValue, wake.key, wake.through])
    }

    // MARK: - Sessions

    /// Returns the wakes for sessions with new messages. A session needs a wake if none of its tasks is active, or if a
    /// task waits for an answer.
    private func sessionWakes(_ rows: [Row]) -> [WantedWake] {
        rows.map { row in
            let reason: WakeReason =
                if row["challenged"] { .challenge } else if row["delayed"] { .delayedRequest } else { .sessionEvents }
            return WantedWake(
                app: AppID(rawValue: row["app"]), reason: reason, key: row["name"], through: row["through"])
        }
    }

    /// Records that an app has finished a wake for the messages of its session up to `through`.
    package func finishWake(_ session: SessionID, through: Int64) throws {
        try db.execute(
            sql: "UPDATE sessions SET woken_through = max(woken_through, ?) WHERE identifier = ?",
            arguments: [through, session.rawValue])
    }

    // MARK: - Rows

    /// Adds a wake of the app, which begins once the transaction is on disk. It replaces a pending wake with the same
    /// key.
    ///
    /// - Parameters:
    ///   - key: The subject within the source, such as the identifier of a region. It is empty if the source has only
    ///     one reason.
    ///   - payload: The data for the app, at most 32 KiB.
    ///   - timeout: The number of observed seconds after which a wake that has not begun is dropped; nil for no limit.
    ///     The wall clock is not used, because it may be wrong.
    /// - Throws: ``StoreError`` if the source is a session, whose wakes follow from its messages, or if the payload is
    ///   too large.
    package func putWake(
        _ app: AppID, _ source: WakeSource, key: String = "", payload: Data? = nil, timeout: Double? = nil,
        now: ClockReading
    ) throws {
        // The new wake gets a new number, because an app that was woken for the old wake has not received the new one.
        try db.cachedStatement(sql: "DELETE FROM wakes WHERE app = ? AND source = ? AND key = ?")
            .execute(arguments: [app.rawValue, source.rawValue, key])
        try db.cachedStatement(
            sql: """
                INSERT INTO wakes (app, source, key, payload, created_at, expires_seen)
                VALUES (?, ?, ?, ?, ?, (SELECT seen_before FROM clock) + ?)
                """
        ).execute(arguments: [
            app.rawValue, source.rawValue, key, payload, now.wallSeconds, timeout.map { now.bootSeconds + $0 },
        ])
    }

    func lastWake() throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = 'wakes'")) ?? 0
    }

    private static func rows(where condition: String) -> String {
        """
        SELECT id, app, source, key, payload, expires_seen - (SELECT seen_before FROM clock) AS expires
        FROM wakes \(condition) ORDER BY id
        """
    }

    private func rowWakes(_ rows: [Row]) throws -> [WantedWake] {
        try rows.map { row in
            guard let source = WakeSource(rawValue: row["source"]) else {
                throw StoreError(.damaged, "Wake \(row["id"] as Int64) cannot be read.")
            }
            return WantedWake(
                app: AppID(rawValue: row["app"]), reason: WakeReason(source), key: row["key"], through: row["id"],
                payload: row["payload"], expires: row["expires"])
        }
    }
}
