import GRDB
import NightshiftAPI

/// Where a part of the service keeps a record of each app, and maybe one of the device. The form of records is the part's own.
struct RecordTable {
    /// Its rows have an app and a record.
    let apps: String
    /// Has one row; nil where nothing is kept of the device.
    let device: String?
    /// What the records tell of, for rows that cannot be read.
    let subject: String

    static let refresh = RecordTable(apps: "refresh_apps", device: "refresh_device", subject: "refresh")
    static let location = RecordTable(apps: "location_apps", device: "location_device", subject: "location")
    static let push = RecordTable(apps: "push_apps", device: "push_device", subject: "remote notifications")
    static let notifications = RecordTable(apps: "notification_apps", device: nil, subject: "notifications")
}

extension StoreTransaction {
    /// Reads the records of apps, and what those are called that make no sense: they take no other with them.
    func readRecords<App: Decodable>(
        in table: RecordTable, into records: inout [AppID: App], unreadable: inout [String]
    ) throws {
        for row in try Row.fetchAll(db, sql: "SELECT app, record FROM \(table.apps) ORDER BY app") {
            let id = AppID(rawValue: row["app"])
            if let record = try? Columns.decode(App.self, row["record"]) {
                records[id] = record
            } else {
                unreadable.append("\(table.subject) of \(id)")
            }
        }
    }

    /// Reads the record of the device; nil where there is none, or one that makes no sense.
    func readDeviceRecord<Device: Decodable>(in table: RecordTable, unreadable: inout [String]) throws -> Device? {
        guard let device = table.device, let text = try String.fetchOne(db, sql: "SELECT record FROM \(device)") else {
            return nil
        }
        let record = try? Columns.decode(Device.self, text)
        if record == nil { unreadable.append("\(table.subject) of the device") }
        return record
    }

    func putRecord(_ record: some Encodable, of app: AppID, in table: RecordTable) throws {
        try db.cachedStatement(
            sql: "INSERT INTO \(table.apps) (app, record) VALUES (?1, ?2) ON CONFLICT (app) DO UPDATE SET record = ?2"
        ).execute(arguments: [app.rawValue, try Columns.encode(record)])
    }

    func putDeviceRecord(_ record: some Encodable, in table: RecordTable) throws {
        guard let device = table.device else { throw StoreError(.other, "No \(table.subject) is kept of the device.") }
        try db.cachedStatement(
            sql: "INSERT INTO \(device) (id, record) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET record = ?1"
        ).execute(arguments: [try Columns.encode(record)])
    }

    /// Deletes every row of an app from tables that name it.
    func deleteRows(of app: AppID, from tables: String...) throws {
        for table in tables {
            try db.execute(sql: "DELETE FROM \(table) WHERE app = ?", arguments: [app.rawValue])
        }
    }

    /// Takes back what an app was to be woken for by these sources.
    ///
    /// - Parameter tables: of wakes, and where their part waits for what comes of them, of their ends.
    func deleteWakes(of app: AppID, by sources: [WakeSource], from tables: String...) throws {
        let list = sources.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        for table in tables {
            try db.execute(
                sql: "DELETE FROM \(table) WHERE app = ? AND source IN (\(list))", arguments: [app.rawValue])
        }
    }
}
