import GRDB
package import NightshiftAPI

/// The readable rows of location, and the names of the unreadable rows.
package struct StoredLocation<App: Sendable, Device: Sendable>: Sendable {
    package var apps: [AppID: App] = [:]
    package var device: Device?
    package var unreadable: [String] = []

    package init() {}
}

/// The stored state of regions and significant changes. The feature defines the form of the records.
extension StoreTransaction {
    /// Returns all rows. An unreadable row does not affect other rows.
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

    /// Deletes the location state and location wakes of a removed app.
    package func deleteLocation(of app: AppID) throws {
        try deleteRows(of: app, from: RecordTable.location.apps)
        try deleteLocationWakes(of: app)
    }

    /// Deletes pending location wakes of an app.
    ///
    /// - Parameter region: The region of the wakes; nil for all regions and significant changes.
    package func deleteLocationWakes(of app: AppID, region: String? = nil) throws {
        if let region {
            try db.execute(
                sql: "DELETE FROM wakes WHERE app = ? AND source = 'region' AND key = ?",
                arguments: [app.rawValue, region])
        } else {
            try deleteWakes(of: app, by: [.region, .significantChange], from: "wakes")
        }
    }

    /// Deletes an app's pending wake for a significant change.
    package func deleteSignificantChangeWake(of app: AppID) throws {
        try deleteWakes(of: app, by: [.significantChange], from: "wakes")
    }
}
