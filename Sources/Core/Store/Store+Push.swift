package import Foundation
import GRDB
package import NightshiftAPI

/// A received push, with the record that its feature stores.
package struct StoredPush<Record: Sendable>: Sendable {
    /// The provider's `apns-id`.
    package var id: String
    package var app: AppID
    package var record: Record
    /// The payload; nil once it is no longer needed.
    package var payload: Data?
    /// The number of the wake for the push: ``WantedWake/through``.
    package var wake: Int64?

    package init(id: String, app: AppID, record: Record, payload: Data?, wake: Int64? = nil) {
        self.id = id
        self.app = app
        self.record = record
        self.payload = payload
        self.wake = wake
    }
}

/// The readable rows of remote notifications, and the names of the unreadable rows.
package struct StoredPushes<App: Sendable, Device: Sendable, Record: Sendable>: Sendable {
    package var apps: [AppID: App] = [:]
    package var device: Device?
    /// The pushes in the order of arrival.
    package var pushes: [StoredPush<Record>] = []
    package var unreadable: [String] = []

    package init() {}
}

/// The stored state of remote notifications, and the received pushes. The feature defines the form of the records.
extension StoreTransaction {
    /// Returns all rows. An unreadable row does not affect other rows.
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

    /// Deletes the push state of a removed app, including the ends of its push wakes.
    package func deletePushes(of app: AppID) throws {
        try deleteRows(of: app, from: RecordTable.push.apps, "push_messages")
        try deleteWakes(of: app, by: [.push], from: "wakes", "wake_ends")
    }

    /// Writes the current state of a push. The stored number of its wake stays.
    package func putPushMessage(_ id: String, of app: AppID, _ record: some Encodable, payload: Data?) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO push_messages (id, app, record, payload) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (id) DO UPDATE SET record = ?3, payload = ?4
                """
        ).execute(arguments: [id, app.rawValue, try Columns.encode(record), payload])
    }

    /// Adds a wake for a push. It must be called after ``putPushMessage(_:of:_:payload:)``. The wake replaces a pending
    /// one with the same key that has not begun.
    package func putPushWake(
        _ id: String, of app: AppID, key: String = "", payload: Data, timeout: Double?, now: ClockReading
    ) throws {
        try putWake(app, .push, key: key, payload: payload, timeout: timeout, now: now)
        try db.cachedStatement(sql: "UPDATE push_messages SET wake = ? WHERE id = ?")
            .execute(arguments: [db.lastInsertedRowID, id])
    }

    package func deletePushMessages(_ ids: some Sequence<String>) throws {
        let statement = try db.cachedStatement(sql: "DELETE FROM push_messages WHERE id = ?")
        for id in ids { try statement.execute(arguments: [id]) }
    }

    /// Returns the id of the push for which a wake was added.
    package func pushMessage(ofWake wake: Int64) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT id FROM push_messages WHERE wake = ?"), arguments: [wake])
    }
}
