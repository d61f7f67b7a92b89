import Foundation
import GRDB
package import NightshiftAPI

/// The pending and shown notifications of apps, and the notification state of each app.
///
/// A feature that has a notification to show writes its row in the transaction of the event. It then wakes the feature
/// that shows notifications.
extension StoreTransaction {
    /// Adds a notification to show. It replaces a pending notification of the app with the same identifier. A shown
    /// notification with this identifier stays until the new one replaces it. If the app has too many pending
    /// notifications, the oldest is deleted.
    ///
    /// A notification that has waited for its app is not added if a newer one has its identifier: while it waited, the
    /// app requested another one in its place.
    ///
    /// - Parameter due: The time in seconds since 1970 from which the notification is shown. If it is later than the
    ///   date of the notification, the notification has waited.
    package func putNotification(_ notification: AppNotification, for app: AppID, due: Double) throws {
        if due > notification.date.timeIntervalSince1970 {
            let hasNewer = try notifications(of: app).contains {
                $0.notification.identifier == notification.identifier && $0.notification.date > notification.date
            }
            guard !hasNewer else { return }
        }
        try put(StoredNotification(app: app, notification: notification, due: due))
    }

    /// Writes a notification, which replaces the notification with the same key. The store keeps the newest
    /// ``Limits/notifications`` pending notifications of the app, and as many shown notifications.
    package func put(_ stored: StoredNotification) throws {
        try deleteNotification(stored.key)
        try db.cachedStatement(
            sql: """
                INSERT INTO notifications (app, identifier, state, due_at, delay, repeats, server, number, record)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            stored.app.rawValue, stored.notification.identifier, stored.state.rawValue, stored.due, stored.delay,
            stored.repeats, stored.place?.server, stored.place.map { Int64($0.number) },
            try Columns.encode(stored.notification),
        ])
        try db.cachedStatement(
            sql: """
                DELETE FROM notifications WHERE app = ?1 AND (state = 'shown') = ?2 AND id NOT IN (
                    SELECT id FROM notifications WHERE app = ?1 AND (state = 'shown') = ?2 ORDER BY id DESC LIMIT ?3)
                """
        ).execute(arguments: [stored.app.rawValue, stored.state == .shown, Limits.notifications])
    }

    /// Changes the row of a notification, which keeps its place in the order. If another feature has replaced the
    /// notification in the meantime, nothing changes.
    package func update(_ stored: StoredNotification) throws {
        guard try contains(stored) else { return }
        try db.cachedStatement(
            sql: """
                UPDATE notifications SET state = ?, due_at = ?, delay = ?, repeats = ?, server = ?, number = ?
                WHERE app = ? AND identifier = ? AND (state = 'shown') = ?
                """
        ).execute(arguments: [
            stored.state.rawValue, stored.due, stored.delay, stored.repeats, stored.place?.server,
            stored.place.map { Int64($0.number) }, stored.app.rawValue, stored.notification.identifier,
            stored.key.isShown,
        ])
    }

    /// Deletes the row of a notification. If another feature has replaced the notification in the meantime, nothing
    /// changes.
    package func delete(_ stored: StoredNotification) throws {
        if try contains(stored) { try deleteNotification(stored.key) }
    }

    /// Returns whether the row with the key of a notification contains that notification, and not a newer one.
    private func contains(_ stored: StoredNotification) throws -> Bool {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT * FROM notifications WHERE app = ? AND identifier = ? AND (state = 'shown') = ?"),
            arguments: [stored.app.rawValue, stored.notification.identifier, stored.key.isShown])
        // Rows contain milliseconds.
        return row.flatMap(Self.notification).map {
            abs($0.notification.date.timeIntervalSince(stored.notification.date)) < 0.001
        } ?? false
    }

    private func deleteNotification(_ key: StoredNotification.Key) throws {
        try db.cachedStatement(
            sql: "DELETE FROM notifications WHERE app = ? AND identifier = ? AND (state = 'shown') = ?"
        ).execute(arguments: [key.app.rawValue, key.identifier, key.isShown])
    }

    package func putNotifications(_ record: some Encodable, of app: AppID) throws {
        try putRecord(record, of: app, in: .notifications)
    }

    /// Deletes the notification state of a removed app, including the user's settings for it.
    package func deleteNotifications(of app: AppID) throws {
        try deleteRows(of: app, from: RecordTable.notifications.apps, "notifications")
        try deleteWakes(of: app, by: [.response], from: "wakes")
    }

    /// Returns all rows. An unreadable row does not affect other rows.
    package func notifications<App: Decodable & Sendable>(_ app: App.Type) throws -> StoredNotifications<App> {
        var kept = StoredNotifications<App>()
        try readRecords(in: .notifications, into: &kept.apps, unreadable: &kept.unreadable)
        for row in try Row.fetchAll(db.cachedStatement(sql: "SELECT * FROM notifications ORDER BY id")) {
            if let stored = Self.notification(row) {
                kept.notifications.append(stored)
            } else {
                let (app, identifier): (String, String) = (row["app"], row["identifier"])
                kept.unreadable.append("notification '\(identifier)' of \(app)")
            }
        }
        return kept
    }

    /// Returns the readable notifications of one app, with the oldest first.
    package func notifications(of app: AppID) throws -> [StoredNotification] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT * FROM notifications WHERE app = ? ORDER BY id"), arguments: [app.rawValue]
        ).compactMap(Self.notification)
    }

    /// Returns the notification of a row; nil if the row is invalid.
    private static func notification(_ row: Row) -> StoredNotification? {
        guard let notification = try? Columns.decode(AppNotification.self, row["record"]),
            notification.identifier == row["identifier"], let state = StoredNotification.State(rawValue: row["state"])
        else { return nil }
        var stored = StoredNotification(
            app: AppID(rawValue: row["app"]), notification: notification, state: state, due: row["due_at"])
        stored.delay = row["delay"]
        stored.repeats = row["repeats"]
        if let server: String = row["server"], let number: Int64 = row["number"],
            let number = UInt32(exactly: number)
        {
            stored.place = StoredNotification.Place(server: server, number: number)
        }
        return stored
    }
}
