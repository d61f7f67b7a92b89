import Foundation
import GRDB
package import PushProtocol
package import PushRouting

/// A line of the delivery log.
package struct LogEntry: Sendable, Hashable {
    package var entry: Int64
    package var push: PushID
    /// The time of the entry, in milliseconds since 1970.
    package var at: Int64
    package var event: String
    package var detail: String?
    /// The device to which the push is addressed; nil in all but the first entry of a push.
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

extension [LogEntry] {
    /// The entries of one push, with only one outcome for each time that the push was received. The outcome is the
    /// delivery, if any, and otherwise the first reason for which the push was discarded. This filter is for a store
    /// that cannot read before it writes.
    package var withOneFate: [LogEntry] {
        // If a push id was sent to several devices, most entries do not say which device they concern.
        guard Set(compactMap(\.device)).count < 2 else { return self }
        var kept: [LogEntry] = []
        // The index in `kept` of the outcome since the push was last received.
        var known: Int?
        for entry in self {
            if entry.event == DeliveryEvent.received.name { known = nil }
            guard let fate = DeliveryEvent.Fate(name: entry.event) else {
                kept.append(entry)
                continue
            }
            if let index = known {
                guard fate == .delivered, DeliveryEvent.Fate(name: kept[index].event) == .discarded else { continue }
                kept.remove(at: index)
            }
            known = kept.count
            kept.append(entry)
        }
        return kept
    }
}

extension PushTransaction {
    /// Logs an event of a push, and keeps only one outcome. If a device acknowledges a push while the push is being
    /// replaced or expires, only the delivery is kept.
    package func log(_ push: PushID, _ event: DeliveryEvent, at: Int64) throws {
        if let fate = event.fate {
            let earlier = try fates(of: push)
            if earlier.contains(where: { $0.fate == .delivered }) || fate == .discarded && !earlier.isEmpty { return }
            for entry in earlier { try run("DELETE FROM log WHERE entry = ?", [entry.entry]) }
        }
        try run(
            "INSERT INTO log (push, at, event, detail) VALUES (?, ?, ?, ?)",
            [push.data, at, event.name, event.detail])
    }

    /// Returns the entries with an outcome of `push` since its provider last sent it. If the push id was sent to
    /// several devices, the result is empty, because the entries do not say which device they concern.
    private func fates(of push: PushID) throws -> [(entry: Int64, fate: DeliveryEvent.Fate)] {
        let select = try db.cachedStatement(
            sql: """
                SELECT entry, event FROM log WHERE push = ?1
                AND entry > coalesce((SELECT max(entry) FROM log WHERE push = ?1 AND event = ?2), 0)
                AND (SELECT count(DISTINCT device) FROM log WHERE push = ?1 AND event = ?2) = 1
                """)
        return try Row.fetchAll(select, arguments: [push.data, DeliveryEvent.received.name]).compactMap { row in
            DeliveryEvent.Fate(name: row["event"]).map { (row["entry"], $0) }
        }
    }

    /// Logs that a push was received.
    package func logReceived(_ push: Push, withPayload: Bool) throws {
        try run(
            "INSERT INTO log (push, at, event, device, topic, payload) VALUES (?, ?, ?, ?, ?, ?)",
            [
                push.id.data, push.receivedAt, DeliveryEvent.received.name, push.device.data, push.topic,
                withPayload ? Data(push.payload) : nil,
            ])
    }

    /// Returns all log entries of `push`, oldest first.
    package func log(of push: PushID) throws -> [LogEntry] {
        try entries("WHERE push = ? ORDER BY entry", [push.data])
    }

    /// Returns at most `limit` entries after `entry`, oldest first.
    package func log(after entry: Int64, limit: Int) throws -> [LogEntry] {
        try entries("WHERE entry > ? ORDER BY entry LIMIT ?", [entry, limit])
    }

    package func lastLogEntry() throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(entry) FROM log") ?? 0
    }

    /// Deletes all but the last `limit` entries.
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
