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
        try readRecords(in: .location, into: &kept.apps, unreadable: &kept.unreadable)
        kept.device = try readDeviceRecord(in: .location, unreadable: &kept.unreadable)
        return kept
    }

    package func putLocation(_ record: some Encodable, of app: AppID) throws {
        try putRecord(record, of: app, in: .location)
    }

    package func putLocationOfDevice(_ record: some Encodable) throws {
        try putDeviceRecord(record, in: .location)
    }

    /// Forgets what is kept of an app that is gone, and what it was to be woken for.
    package func deleteLocation(of app: AppID) throws {
        try deleteRows(of: app, from: RecordTable.location.apps)
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
            try deleteWakes(of: app, by: [.region, .significantChange], from: "wakes")
        }
    }

    /// Takes back that an app was to be told of a significant change.
    package func deleteSignificantChangeWake(of app: AppID) throws {
        try deleteWakes(of: app, by: [.significantChange], from: "wakes")
    }
}
