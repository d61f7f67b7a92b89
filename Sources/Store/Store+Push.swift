package import Foundation
import GRDB
package import NightshiftAPI

/// A push that came, with what its part knows of it.
package struct StoredPush<Record: Sendable>: Sendable {
    /// The provider's `apns-id`.
    package var id: String
    package var app: AppID
    package var record: Record
    /// Nil once nobody waits for it.
    package var payload: Data?
    /// The number of the wake that was asked for it: ``WantedWake/through``.
    package var wake: Int64?

    package init(id: String, app: AppID, record: Record, payload: Data?, wake: Int64? = nil) {
        self.id = id
        self.app = app
        self.record = record
        self.payload = payload
        self.wake = wake
    }
}

/// The rows of remote notifications that could be read, and what they are called that could not.
package struct StoredPushes<App: Sendable, Device: Sendable, Record: Sendable>: Sendable {
    package var apps: [AppID: App] = [:]
    package var device: Device?
    /// In the order in which they came.
    package var pushes: [StoredPush<Record>] = []
    package var unreadable: [String] = []

    package init() {}
}

/// What is known of remote notifications: records whose form is their owner's, and the pushes that came.
extension StoreTransaction {
    /// All that is kept. A row that makes no sense takes no other with it.
    package func pushes<App: Decodable & Sendable, Device: Decodable & Sendable, Record: Decodable & Sendable>(
        _ app: App.Type, _ device: Device.Type, _ push: Record.Type
    ) throws -> StoredPushes<App, Device, Record> {
        var kept = StoredPushes<App, Device, Record>()
        try readRecords(in: .push, into: &kept.apps, unreadable: &kept.unreadable)
        kept.device = try readDeviceRecord(in: .push, unreadable: &kept.unreadable)
        let rows = try Row.fetchAll(
            db, sql: "SELECT id, app, record, payload, wake FROM push_messages ORDER BY rowid")
        for row in rows {
            let (id, app): (String, String) = (row["id"], row["app"])
            if let record = try? Columns.decode(push, row["record"]) {
                kept.pushes.append(
                    StoredPush(
                        id: id, app: AppID(rawValue: app), record: record, payload: row["payload"], wake: row["wake"]))
            } else {
                kept.unreadable.append("push \(id) of \(app)")
            }
        }
        return kept
    }

    package func putPush(_ record: some Encodable, of app: AppID) throws {
        try putRecord(record, of: app, in: .push)
    }

    package func putPushOfDevice(_ record: some Encodable) throws {
        try putDeviceRecord(record, in: .push)
    }

    /// Forgets what is kept of an app that is gone, ends of its pushes' wakes included.
    package func deletePushes(of app: AppID) throws {
        try deleteRows(of: app, from: RecordTable.push.apps, "push_messages")
        try deleteWakes(of: app, by: [.push], from: "wakes", "wake_ends")
    }

    /// A push as it is known now. The number of its wake stays.
    package func putPushMessage(_ id: String, of app: AppID, _ record: some Encodable, payload: Data?) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO push_messages (id, app, record, payload) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (id) DO UPDATE SET record = ?3, payload = ?4
                """
        ).execute(arguments: [id, app.rawValue, try Columns.encode(record), payload])
    }

    /// Has an app woken for a push, after ``putPushMessage(_:of:_:payload:)``. One under the same key that waits for its app
    /// already, and has not begun, is replaced.
    package func putPushWake(
        _ id: String, of app: AppID, key: String = "", payload: Data, patience: Double?, now: ClockReading
    ) throws {
        try putWake(app, .push, key: key, payload: payload, patience: patience, now: now)
        try db.cachedStatement(sql: "UPDATE push_messages SET wake = ? WHERE id = ?")
            .execute(arguments: [db.lastInsertedRowID, id])
    }

    package func deletePushMessages(_ ids: some Sequence<String>) throws {
        let statement = try db.cachedStatement(sql: "DELETE FROM push_messages WHERE id = ?")
        for id in ids { try statement.execute(arguments: [id]) }
    }

    /// The push that a wake was asked for.
    package func pushMessage(ofWake wake: Int64) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT id FROM push_messages WHERE wake = ?"), arguments: [wake])
    }
}
