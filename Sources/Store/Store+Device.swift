import GRDB
package import NightshiftAPI

extension StoreTransaction {
    package func deviceSettings() throws -> DeviceSettings? {
        try String.fetchOne(db, sql: "SELECT settings FROM device WHERE settings IS NOT NULL")
            .map { try Columns.decode(DeviceSettings.self, $0) }
    }

    package func put(_ settings: DeviceSettings) throws {
        try db.execute(
            sql: """
                INSERT INTO device (id, settings) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET settings = ?1
                """, arguments: [try Columns.encode(settings)])
    }

    /// Where the last service was with doze; the value is the caller's own.
    package func doze<State: Decodable>(_ type: State.Type) throws -> State? {
        try String.fetchOne(db, sql: "SELECT doze FROM device WHERE doze IS NOT NULL")
            .map { try Columns.decode(type, $0) }
    }

    package func put(doze: some Encodable) throws {
        try db.execute(
            sql: "INSERT INTO device (id, doze) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET doze = ?1",
            arguments: [try Columns.encode(doze)])
    }
}
