import GRDB
package import NightshiftAPI

/// Notifications of apps: those that wait, those that are shown, and what is known of each app.
///
/// Whoever has one to show writes its row in the transaction that makes it true, and then wakes the part that shows it.
extension StoreTransaction {
    /// Has a notification shown. One of the app with the same identifier that waits is replaced; one that is shown stays until
    /// this one takes its place. Where too many of the app wait, the oldest goes.
    ///
    /// - Parameter due: seconds since 1970 from which on it is shown; nil where it waits for
    ///   ``releaseNotification(_:of:at:)``.
    package func putNotification(_ notification: AppNotification, for app: AppID, due: Double?) throws {
        try put(StoredNotification(app: app, notification: notification, due: due))
    }

    /// Lets a notification be shown that waits to be released.
    ///
    /// - Parameter time: seconds since 1970.
    /// - Returns: whether there was one; where its user wants none of the app, it may have gone.
    @discardableResult
    package func releaseNotification(_ identifier: String, of app: AppID, at time: Double) throws -> Bool {
        try db.cachedStatement(
            sql: """
                UPDATE notifications SET due_at = ?
                WHERE app = ? AND identifier = ? AND state = 'pending' AND due_at IS NULL
                """
        ).execute(arguments: [time, app.rawValue, identifier])
        return db.changesCount > 0
    }

    /// Writes a notification, in the place of the one with its key. Of those of the app that wait, and of those that are
    /// shown, ``Limits/notifications`` stay, the newest.
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

    /// Notes that a notification is shown: it takes the place of the one with its identifier that was, and waits no longer.
    ///
    /// - Parameters:
    ///   - place: nil where the server that shows it cannot tell of it.
    ///   - next: of one that repeats, when it is shown again.
    package func notificationShown(
        _ notification: AppNotification, of app: AppID, place: StoredNotification.Place?, next: Double? = nil
    ) throws {
        if let next {
            try db.cachedStatement(
                sql: """
                    UPDATE notifications SET due_at = ?, state = 'pending'
                    WHERE app = ? AND identifier = ? AND state <> 'shown'
                    """
            ).execute(arguments: [next, app.rawValue, notification.identifier])
        } else {
            try deleteNotification(
                StoredNotification.Key(app: app, identifier: notification.identifier, isShown: false))
        }
        var shown = StoredNotification(app: app, notification: notification, state: .shown)
        shown.place = place
        try put(shown)
    }

    /// Notes that the time of a notification has come, whatever the wall clock says from now on.
    package func notificationIsDue(_ identifier: String, of app: AppID) throws {
        try db.cachedStatement(
            sql: "UPDATE notifications SET state = 'due' WHERE app = ? AND identifier = ? AND state = 'pending'"
        ).execute(arguments: [app.rawValue, identifier])
    }

    /// Notes that the server that shows a notification has nothing more to tell of it.
    package func forgetPlace(_ identifier: String, of app: AppID) throws {
        try db.cachedStatement(
            sql: """
                UPDATE notifications SET server = NULL, number = NULL
                WHERE app = ? AND identifier = ? AND state = 'shown'
                """
        ).execute(arguments: [app.rawValue, identifier])
    }

    package func deleteNotification(_ key: StoredNotification.Key) throws {
        try db.cachedStatement(
            sql: "DELETE FROM notifications WHERE app = ? AND identifier = ? AND (state = 'shown') = ?"
        ).execute(arguments: [key.app.rawValue, key.identifier, key.isShown])
    }

    package func putNotifications(_ record: some Encodable, of app: AppID) throws {
        try putRecord(record, of: app, in: .notifications)
    }

    /// Forgets what is kept of an app that is gone, what its user has chosen included.
    package func deleteNotifications(of app: AppID) throws {
        try deleteRows(of: app, from: RecordTable.notifications.apps, "notifications")
        try deleteWakes(of: app, by: [.response], from: "wakes")
    }

    /// All that is kept. A row that makes no sense takes no other with it.
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

    /// Those of one app that can be read, oldest first.
    package func notifications(of app: AppID) throws -> [StoredNotification] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT * FROM notifications WHERE app = ? ORDER BY id"), arguments: [app.rawValue]
        ).compactMap(Self.notification)
    }

    /// Nil where it makes no sense.
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
