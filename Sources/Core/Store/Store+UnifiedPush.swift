package import Foundation
import GRDB

/// The readable rows of UnifiedPush, and the names of the unreadable rows.
package struct StoredUnifiedPush<Registration: Sendable, Message: Sendable>: Sendable {
    package var registrations: [Registration] = []
    /// The messages. A message that waits has its payload.
    package var messages: [(record: Message, payload: Data?)] = []
    package var unreadable: [String] = []

    package init() {}
}

/// The registrations for UnifiedPush and their messages. The feature defines the form of the records.
extension StoreTransaction {
    /// Returns all rows. An unreadable row does not affect other rows.
    package func unifiedPush<Registration: Decodable & Sendable, Message: Decodable & Sendable>(
        _ registration: Registration.Type, _ message: Message.Type
    ) throws -> StoredUnifiedPush<Registration, Message> {
        var kept = StoredUnifiedPush<Registration, Message>()
        for row in try Row.fetchAll(db, sql: "SELECT topic, record FROM unified_push_registrations ORDER BY rowid") {
            if let record = try? Columns.decode(registration, row["record"]) {
                kept.registrations.append(record)
            } else {
                kept.unreadable.append("UnifiedPush registration \(row["topic"] as String)")
            }
        }
        let rows = try Row.fetchAll(db, sql: "SELECT id, record, payload FROM unified_push_messages ORDER BY rowid")
        for row in rows {
            if let record = try? Columns.decode(message, row["record"]) {
                kept.messages.append((record, row["payload"]))
            } else {
                kept.unreadable.append("UnifiedPush message \(row["id"] as String)")
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

    /// Deletes a registration and its messages.
    package func deleteUnifiedPush(topic: String) throws {
        for table in ["unified_push_registrations", "unified_push_messages"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE topic = ?", arguments: [topic])
        }
    }

    /// Writes the current state of a message.
    ///
    /// - Parameter payload: The bytes of the message; nil once they are no longer needed.
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
