import Foundation
import GRDB
package import PushProtocol
package import PushRouting

/// One line of the delivery log.
package struct LogEntry: Sendable, Hashable {
    package var entry: Int64
    package var push: PushID
    /// Milliseconds since 1970.
    package var at: Int64
    package var event: String
    package var detail: String?
    /// In the first entry of a push.
    package var device: DeviceID?
    package var topic: String?
    package var payload: [UInt8]?

    package init(
        entry: Int64, push: PushID, at: Int64, event: String, detail: String?, device: DeviceID? = nil,
        topic: String? = nil, payload: [UInt8]? = nil
    ) {
        self.entry = entry
        self.push = push
        self.at = at
        self.event = event
        self.detail = detail
        self.device = device
        self.topic = topic
        self.payload = payload
    }
}

extension PushTransaction {
    /// Writes down what became of a push.
    package func log(_ push: PushID, _ event: DeliveryEvent, at: Int64) throws {
        try run(
            "INSERT INTO log (push, at, event, detail) VALUES (?, ?, ?, ?)",
            [push.data, at, event.name, event.detail])
    }

    /// Writes down that a push came.
    package func logReceived(_ push: Push, withPayload: Bool) throws {
        try run(
            "INSERT INTO log (push, at, event, device, topic, payload) VALUES (?, ?, ?, ?, ?, ?)",
            [
                push.id.data, push.receivedAt, DeliveryEvent.received.name, push.device.data, push.topic,
                withPayload ? Data(push.payload) : nil,
            ])
    }

    /// All that is known of `push`, oldest first.
    package func log(of push: PushID) throws -> [LogEntry] {
        try entries("WHERE push = ? ORDER BY entry", [push.data])
    }

    /// At most `limit` entries behind `entry`, oldest first.
    package func log(after entry: Int64, limit: Int) throws -> [LogEntry] {
        try entries("WHERE entry > ? ORDER BY entry LIMIT ?", [entry, limit])
    }

    package func lastLogEntry() throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(entry) FROM log") ?? 0
    }

    /// Forgets all but the last `limit` entries.
    package func pruneLog(to limit: Int) throws {
        try run("DELETE FROM log WHERE entry <= (SELECT max(entry) FROM log) - ?", [limit])
    }

    private func entries(_ condition: String, _ arguments: StatementArguments) throws -> [LogEntry] {
        let select = try db.cachedStatement(sql: "SELECT * FROM log \(condition)")
        return try Row.fetchAll(select, arguments: arguments).compactMap { row in
            guard let push = PushID(bytes: row["push"] as Data) else { return nil }
            return LogEntry(
                entry: row["entry"], push: push, at: row["at"], event: row["event"], detail: row["detail"],
                device: (row["device"] as Data?).flatMap { DeviceID(bytes: $0) }, topic: row["topic"],
                payload: (row["payload"] as Data?).map { Array($0) })
        }
    }
}
