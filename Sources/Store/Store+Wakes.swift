package import Foundation
import GRDB
package import NightshiftAPI

/// The query that is made for each commit that brings a message. It has to stay away from tasks that have ended.
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

/// What apps have to be woken for. Wakes of sessions are derived from their messages; other sources write rows, in the
/// transaction that makes them true.
extension StoreTransaction {
    /// Every reason to wake an app, of every source.
    package func wantedWakes() throws -> [WantedWake] {
        try sessionWakes(Row.fetchAll(db.cachedStatement(sql: WakeStatements.sessions)))
            + rowWakes(Row.fetchAll(db.cachedStatement(sql: Self.rows(where: ""))))
    }

    /// Every reason to wake one app.
    package func wantedWakes(of app: AppID) throws -> [WantedWake] {
        try sessionWakes(
            Row.fetchAll(db.cachedStatement(sql: WakeStatements.sessionsOfApp), arguments: [app.rawValue]))
            + rowWakes(
                Row.fetchAll(db.cachedStatement(sql: Self.rows(where: "WHERE app = ?")), arguments: [app.rawValue]))
    }

    /// Notes that the app is not to be woken for this again: only for what comes after it.
    ///
    /// - Parameter end: what came of it, where somebody waits for that: it is part of the same transaction.
    package func finishWake(_ wake: WantedWake, _ end: WakeEnd? = nil) throws {
        if let end, wake.source.hasResult { try putWakeEnd(wake, end) }
        switch wake.source {
        case .session:
            try finishWake(SessionID(app: wake.app, identifier: wake.key), through: wake.through)
        case .fetch, .push, .region, .significantChange, .processing, .continued, .response:
            try db.cachedStatement(sql: "DELETE FROM wakes WHERE app = ? AND source = ? AND key = ? AND id <= ?")
                .execute(arguments: [wake.app.rawValue, wake.source.rawValue, wake.key, wake.through])
        }
    }

    // MARK: - Sessions

    /// A session with messages that its app was not woken for yet, of which none of the tasks goes on or one waits for an
    /// answer.
    private func sessionWakes(_ rows: [Row]) -> [WantedWake] {
        rows.map { row in
            let reason: WakeReason =
                if row["challenged"] { .challenge } else if row["delayed"] { .delayedRequest } else { .sessionEvents }
            return WantedWake(
                app: AppID(rawValue: row["app"]), reason: reason, key: row["name"], through: row["through"])
        }
    }

    /// Notes that an app has finished a wake for the messages of its session up to `through`.
    package func finishWake(_ session: SessionID, through: Int64) throws {
        try db.execute(
            sql: "UPDATE sessions SET woken_through = max(woken_through, ?) WHERE identifier = ?",
            arguments: [through, session.rawValue])
    }

    // MARK: - Rows

    /// Has the app woken, once the transaction is on disk. What waits already under the same key is replaced.
    ///
    /// - Parameters:
    ///   - key: of a region its identifier, for example; empty where the source has one reason only.
    ///   - payload: at most 32 KiB.
    ///   - patience: seconds that are seen to pass before it is given up, unless it has begun; nil for as long as it takes. The
    ///     wall clock does not count: it may be wrong.
    /// - Throws: ``StoreError`` for a session, which is woken for by its messages, and for a payload that is too large.
    package func putWake(
        _ app: AppID, _ source: WakeSource, key: String = "", payload: Data? = nil, patience: Double? = nil,
        now: ClockReading
    ) throws {
        // A number of its own: an app that was woken for the old one has not had the new one.
        try db.cachedStatement(sql: "DELETE FROM wakes WHERE app = ? AND source = ? AND key = ?")
            .execute(arguments: [app.rawValue, source.rawValue, key])
        try db.cachedStatement(
            sql: """
                INSERT INTO wakes (app, source, key, payload, created_at, expires_seen)
                VALUES (?, ?, ?, ?, ?, (SELECT seen_before FROM clock) + ?)
                """
        ).execute(arguments: [
            app.rawValue, source.rawValue, key, payload, now.wallSeconds, patience.map { now.bootSeconds + $0 },
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
