import GRDB
package import NightshiftAPI

extension StoreTransaction {
    /// Returns the user's device settings; nil if the user set none, or if they are unreadable.
    package func deviceSettings() throws -> DeviceSettings? {
        try deviceColumn("settings").flatMap { try? Columns.decode(DeviceSettings.self, $0) }
    }

    /// Writes the user's device settings. If the replaced settings are unreadable, they are kept in another column
    /// until the next replacement.
    package func put(_ settings: DeviceSettings) throws {
        if try objectionToDeviceSettings() != nil {
            try db.execute(sql: "UPDATE device SET replaced_settings = settings")
        }
        try db.execute(
            sql: """
                INSERT INTO device (id, settings) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET settings = ?1
                """, arguments: [try Columns.encode(settings)])
    }

    /// Returns the stored state of doze in the caller's type; nil if it is missing or unreadable.
    package func doze<State: Decodable>(_ type: State.Type) throws -> State? {
        try deviceColumn("doze").flatMap { try? Columns.decode(type, $0) }
    }

    /// Returns the reason why the user's device settings are unreadable; nil if they can be read.
    package func objectionToDeviceSettings() throws -> String? {
        try objection(to: "settings", DeviceSettings.self)
    }

    /// Returns the reason why the state of doze is unreadable; nil if it can be read.
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
