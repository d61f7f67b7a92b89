import GRDB
package import NightshiftAPI

/// The result of reading the stored apps.
package struct StoredApps: Sendable {
    package var records: [AppRecord] = []
    /// The apps whose rows are unreadable. These rows stay unchanged until they are removed.
    package var unreadable: [UnreadableApp] = []
}

extension StoreTransaction {
    package func apps() throws -> StoredApps {
        var stored = StoredApps()
        for row in try Row.fetchAll(db, sql: "SELECT id, record FROM apps ORDER BY id") {
            do {
                stored.records.append(try Columns.decode(AppRecord.self, row["record"]))
            } catch {
                stored.unreadable.append(
                    UnreadableApp(id: AppID(rawValue: row["id"]), reason: Columns.words(for: error)))
            }
        }
        return stored
    }

    /// Returns the record of an app; nil if it has none.
    ///
    /// - Throws: ``StoreError`` of code ``StoreError/Code/unreadable`` if the row is invalid.
    package func app(_ id: AppID) throws -> AppRecord? {
        let text = try String.fetchOne(
            db.cachedStatement(sql: "SELECT record FROM apps WHERE id = ?"), arguments: [id.rawValue])
        do {
            return try Columns.decodeIfPresent(AppRecord.self, text)
        } catch {
            throw StoreError(.unreadable, UnreadableApp(id: id, reason: Columns.words(for: error)).sentence)
        }
    }

    package func put(_ record: AppRecord) throws {
        try db.cachedStatement(
            sql: "INSERT INTO apps (id, record) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET record = ?2"
        ).execute(arguments: [record.id.rawValue, try Columns.encode(record)])
    }

    package func deleteApp(_ id: AppID) throws {
        try db.execute(sql: "DELETE FROM apps WHERE id = ?", arguments: [id.rawValue])
    }

    /// Deletes the rows that all features store for a removed app. Its sessions, their tasks and messages stay.
    package func deleteEverything(of app: AppID) throws {
        try deleteApp(app)
        try deleteRefresh(of: app)
        try deleteLocation(of: app)
        try deletePushes(of: app)
        try deleteNotifications(of: app)
        try deleteRows(of: app, from: "wakes", "wake_ends")
    }
}
