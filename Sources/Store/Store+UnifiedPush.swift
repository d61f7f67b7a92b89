package import Foundation
import GRDB

/// The rows of UnifiedPush that could be read, and what they are called that could not.
package struct StoredUnifiedPush<Registration: Sendable, Message: Sendable>: Sendable {
    package var registrations: [Registration] = []
    /// With their bytes, while they wait.
    package var messages: [(record: Message, payload: Data?)] = []
    package var unreadable: [String] = []

    package init() {}
}

/// Registrations for UnifiedPush and their messages: records whose form is their owner's.
extension StoreTransaction {
    /// All that is kept. A row that makes no sense takes no other with it.
    package func unifiedPush<Registration: Decodable & Sendable, Message: Decodable & Sendable>(
        _ registration: Registration.Type, _ message: Message.Type
    ) throws -> StoredUnifiedPush<Registration, Message> {
        var kept = StoredUnifiedPush<Registration, Message>()
        for row in try Row.fetchAll(db, sql: "SELECT topic, record FROM unified_push_registrations ORDER BY rowid") {
            if let record = try? Columns.decode(registration, row["record"]) {
                kept.registrations.append(record)
            } else {
                kept.unreadable.append("the registration \(row["topic"] as String)")
            }
        }
        let rows = try Row.fetchAll(db, sql: "SELECT id, record, payload FROM unified_push_messages ORDER BY rowid")
        for row in rows {
            if let record = try? Columns.decode(message, row["record"]) {
                kept.messages.append((record, row["payload"]))
            } else {
                kept.unreadable.append("the message \(row["id"] as String) of UnifiedPush")
            }
        }
        return kept
    }

    package func putUnifiedPush(_ record: some Encodable, topic: String) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO unified_push_registrations (topic, record) VALUES (?1, ?2)
                ON CONFLICT (topic) DO UPDATE SET record = ?2
                """
        ).execute(arguments: [topic, try Columns.encode(record)])
    }

    /// Forgets a registration, and all that came for it.
    package func deleteUnifiedPush(topic: String) throws {
        for table in ["unified_push_registrations", "unified_push_messages"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE topic = ?", arguments: [topic])
        }
    }

    /// A message as it is known now.
    ///
    /// - Parameter payload: nil once nobody waits for it.
    package func putUnifiedPushMessage(
        _ id: String, topic: String, _ record: some Encodable, payload: Data?
    ) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO unified_push_messages (id, topic, record, payload) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (id) DO UPDATE SET record = ?3, payload = ?4
                """
        ).execute(arguments: [id, topic, try Columns.encode(record), payload])
    }

    package func deleteUnifiedPushMessages(_ ids: some Sequence<String>) throws {
        let statement = try db.cachedStatement(sql: "DELETE FROM unified_push_messages WHERE id = ?")
        for id in ids { try statement.execute(arguments: [id]) }
    }
}
