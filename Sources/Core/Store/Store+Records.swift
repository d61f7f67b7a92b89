import GRDB
import NightshiftAPI

/// The names of the tables in which a feature stores a record of each app, and optionally a record of the device. The
/// feature defines the form of the records.
struct RecordTable {
    /// The name of the table with an app and its record in each row.
    let apps: String
    /// The name of the table with a single row; nil if the feature stores no record of the device.
    let device: String?
    /// The name of one record, for messages about unreadable rows.
    let name: String

    static let refresh = RecordTable(
        apps: "refresh_apps", device: "refresh_device", name: "background refresh record")
    static let location = RecordTable(apps: "location_apps", device: "location_device", name: "location record")
    static let push = RecordTable(apps: "push_apps", device: "push_device", name: "remote notification record")
    static let notifications = RecordTable(apps: "notification_apps", device: nil, name: "notification record")
}

extension StoreTransaction {
    /// Returns the readable records of apps. Adds the names of unreadable rows to `unreadable`.
    func readRecords<App: Decodable>(
        in table: RecordTable, into records: inout [AppID: App], unreadable: inout [String]
    ) throws {
        for row in try Row.fetchAll(db, sql: "SELECT app, record FROM \(table.apps) ORDER BY app") {
            let id = AppID(rawValue: row["app"])
            if let record = try? Columns.decode(App.self, row["record"]) {
                records[id] = record
            } else {
                unreadable.append("\(table.name) of \(id)")
            }
        }
    }

    /// Returns the record of the device; nil if it is missing or unreadable.
    func readDeviceRecord<Device: Decodable>(in table: RecordTable, unreadable: inout [String]) throws -> Device? {
        guard let device = table.device, let text = try String.fetchOne(db, sql: "SELECT record FROM \(device)") else {
            return nil
        }
        let record = try? Columns.decode(Device.self, text)
        if record == nil { unreadable.append("\(table.name) of the device") }
        return record
    }

    func putRecord(_ record: some Encodable, of app: AppID, in table: RecordTable) throws {
        try db.cachedStatement(
            sql: "INSERT INTO \(table.apps) (app, record) VALUES (?1, ?2) ON CONFLICT (app) DO UPDATE SET record = ?2"
        ).execute(arguments: [app.rawValue, try Columns.encode(record)])
    }

    func putDeviceRecord(_ record: some Encodable, in table: RecordTable) throws {
        guard let device = table.device else {
            throw StoreError(.other, "The store has no table for the \(table.name) of the device.")
        }
        try db.cachedStatement(
            sql: "INSERT INTO \(device) (id, record) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET record = ?1"
        ).execute(arguments: [try Columns.encode(record)])
    }

    /// Deletes every row of an app from the given tables.
    func deleteRows(of app: AppID, from tables: String...) throws {
        for table in tables {
            try db.execute(sql: "DELETE FROM \(table) WHERE app = ?", arguments: [app.rawValue])
        }
    }

    /// Deletes an app's pending wakes from these sources.
    ///
    /// - Parameter tables: The table of wakes, and the table of their ends if the feature uses their results.
    func deleteWakes(of app: AppID, by sources: [WakeSource], from tables: String...) throws {
        let list = sources.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        for table in tables {
            try db.execute(
                sql: "DELETE FROM \(table) WHERE app = ? AND source IN (\(list))", arguments: [app.rawValue])
        }
    }
}
