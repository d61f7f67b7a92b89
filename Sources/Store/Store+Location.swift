import GRDB
package import NightshiftAPI

/// The rows of location that could be read, and what they are called that could not.
package struct StoredLocation<App: Sendable, Device: Sendable>: Sendable {
    package var apps: [AppID: App] = [:]
    package var device: Device?
    package var unreadable: [String] = []

    package init() {}
}

/// What is known of regions and significant changes: records whose form is their owner's.
extension StoreTransaction {
    /// All that is kept. A row that makes no sense takes no other with it.
    package func location<App: Decodable & Sendable, Device: Decodable & Sendable>(
        _ app: App.Type, _ device: Device.Type
    ) throws -> StoredLocation<App, Device> {
        var kept = StoredLocation<App, Device>()
        for row in try Row.fetchAll(db, sql: "SELECT app, record FROM location_apps ORDER BY app") {
            let id = AppID(rawValue: row["app"])
            if let record = try? Columns.decode(app, row["record"]) {
                kept.apps[id] = record
            } else {
                kept.unreadable.append("location of \(id)")
            }
        }
        if let text = try String.fetchOne(db, sql: "SELECT record FROM location_device") {
            kept.device = try? Columns.decode(device, text)
            if kept.device == nil { kept.unreadable.append("location of the device") }
        }
        return kept
    }

    package func putLocation(_ record: some Encodable, of app: AppID) throws {
        try db.cachedStatement(
            sql: "INSERT INTO location_apps (app, record) VALUES (?1, ?2) ON CONFLICT (app) DO UPDATE SET record = ?2"
        ).execute(arguments: [app.rawValue, try Columns.encode(record)])
    }

    package func putLocationOfDevice(_ record: some Encodable) throws {
        try db.cachedStatement(
            sql: "INSERT INTO location_device (id, record) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET record = ?1"
        ).execute(arguments: [try Columns.encode(record)])
    }

    /// Forgets what is kept of an app that is gone, and what it was to be woken for.
    package func deleteLocation(of app: AppID) throws {
        try db.execute(sql: "DELETE FROM location_apps WHERE app = ?", arguments: [app.rawValue])
        try deleteLocationWakes(of: app)
    }

    /// Takes back what an app was to be told of its location and was not yet.
    ///
    /// - Parameter region: the one that it is about; all regions, and significant changes, where none is named.
    package func deleteLocationWakes(of app: AppID, region: String? = nil) throws {
        if let region {
            try db.execute(
                sql: "DELETE FROM wakes WHERE app = ? AND source = 'region' AND key = ?",
                arguments: [app.rawValue, region])
        } else {
            try db.execute(
                sql: "DELETE FROM wakes WHERE app = ? AND source IN ('region', 'significantChange')",
                arguments: [app.rawValue])
        }
    }

    /// Takes back that an app was to be told of a significant change.
    package func deleteSignificantChangeWake(of app: AppID) throws {
        try db.execute(
            sql: "DELETE FROM wakes WHERE app = ? AND source = 'significantChange'", arguments: [app.rawValue])
    }
}
