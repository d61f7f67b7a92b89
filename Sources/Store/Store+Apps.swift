import GRDB
package import NightshiftAPI

extension StoreTransaction {
    package func apps() throws -> [AppRecord] {
        try String.fetchAll(db, sql: "SELECT record FROM apps ORDER BY id").map {
            try Columns.decode(AppRecord.self, $0)
        }
    }

    package func app(_ id: AppID) throws -> AppRecord? {
        let text = try String.fetchOne(
            db.cachedStatement(sql: "SELECT record FROM apps WHERE id = ?"), arguments: [id.rawValue])
        return try Columns.decodeIfPresent(AppRecord.self, text)
    }

    package func put(_ record: AppRecord) throws {
        try db.cachedStatement(
            sql: "INSERT INTO apps (id, record) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET record = ?2"
        ).execute(arguments: [record.id.rawValue, try Columns.encode(record)])
    }

    package func deleteApp(_ id: AppID) throws {
        try db.execute(sql: "DELETE FROM apps WHERE id = ?", arguments: [id.rawValue])
    }
}
