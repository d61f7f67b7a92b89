import GRDB
package import NightshiftAPI

extension StoreTransaction {
    /// What people have set for the device; nil where they have set nothing, and where it makes no sense.
    package func deviceSettings() throws -> DeviceSettings? {
        try deviceColumn("settings").flatMap { try? Columns.decode(DeviceSettings.self, $0) }
    }

    /// Keeps what people have set. What made no sense stays in a column of its own, until the next time.
    package func put(_ settings: DeviceSettings) throws {
        if try objectionToDeviceSettings() != nil {
            try db.execute(sql: "UPDATE device SET replaced_settings = settings")
        }
        try db.execute(
            sql: """
                INSERT INTO device (id, settings) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET settings = ?1
                """, arguments: [try Columns.encode(settings)])
    }

    /// Where the last service was with doze; the value is the caller's own. Nil also where it makes no sense.
    package func doze<State: Decodable>(_ type: State.Type) throws -> State? {
        try deviceColumn("doze").flatMap { try? Columns.decode(type, $0) }
    }

    /// Why what people have set makes no sense; nil where it does.
    package func objectionToDeviceSettings() throws -> String? {
        try objection(to: "settings", DeviceSettings.self)
    }

    /// The same for doze.
    package func objection(toDoze type: (some Decodable).Type) throws -> String? { try objection(to: "doze", type) }

    private func objection(to column: String, _ type: (some Decodable).Type) throws -> String? {
        guard let text = try deviceColumn(column) else { return nil }
        do {
            _ = try Columns.decode(type, text)
            return nil
        } catch {
            return Columns.words(for: error)
        }
    }

    private func deviceColumn(_ name: String) throws -> String? {
        try String.fetchOne(db, sql: "SELECT \(name) FROM device WHERE \(name) IS NOT NULL")
    }

    package func put(doze: some Encodable) throws {
        try db.execute(
            sql: "INSERT INTO device (id, doze) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET doze = ?1",
            arguments: [try Columns.encode(doze)])
    }
}
