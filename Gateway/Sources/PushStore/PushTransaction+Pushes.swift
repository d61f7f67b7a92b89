import Foundation
import GRDB
package import PushProtocol
package import PushRouting

extension PushTransaction {
    /// Puts `push` into its slot; gives the pushes whose place it takes.
    ///
    /// A silent push that passes takes the place of the one that was held for its topic, too.
    package func store(
        _ push: Push, slot: Slot, heldUntil: Int64?
    ) throws -> (stored: StoredPush, replaced: [PushID]) {
        guard let expiry = push.expiry else { throw StoreError(.refused, "A push with one attempt is not stored.") }
        let slots: [Slot] = slot == .latest && push.isSilent ? [.latest, .held] : [slot]
        let device = push.device.data
        var replaced: [PushID] = []
        for slot in slots {
            let arguments: StatementArguments = [device, push.topic, slot.rawValue]
            let select = try db.cachedStatement(
                sql: "SELECT id FROM push WHERE device = ? AND topic = ? AND slot = ?")
            guard let old = try Data.fetchOne(select, arguments: arguments).flatMap({ PushID(bytes: $0) }) else {
                continue
            }
            replaced.append(old)
            try run("DELETE FROM push WHERE device = ? AND topic = ? AND slot = ?", arguments)
        }
        try run(
            """
            INSERT INTO push (id, device, topic, slot, receivedAt, expiry, priority, type, collapseID, isSilent,
                heldUntil, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                push.id.data, device, push.topic, slot.rawValue, push.receivedAt, expiry, push.priority.rawValue,
                push.type.rawValue, push.collapseID, push.isSilent, heldUntil, Data(push.payload),
            ])
        let stored = StoredPush(push: push, slot: slot, sequence: db.lastInsertedRowID, heldUntil: heldUntil)
        return (stored, replaced)
    }

    /// What is stored for `device`, in the order in which it came.
    package func waiting(for device: DeviceID) throws -> [StoredPush] {
        let select = try db.cachedStatement(sql: "SELECT * FROM push WHERE device = ? ORDER BY sequence")
        return try Row.fetchAll(select, arguments: [device.data]).compactMap(StoredPush.init(row:))
    }

    /// Takes one push from storage; nothing happens where another has its place.
    package func remove(_ push: PushID, device: DeviceID) throws {
        try run("DELETE FROM push WHERE device = ? AND id = ?", [device.data, push.data])
    }

    /// Takes at most `limit` pushes from storage that nobody wants any more; says which.
    package func removeExpired(now: Moment, limit: Int) throws -> [PushID] {
        let expired = try Row.fetchAll(
            db, sql: "SELECT sequence, id FROM push WHERE expiry <= ? ORDER BY expiry LIMIT ?",
            arguments: [now.wallSeconds, limit])
        for row in expired { try run("DELETE FROM push WHERE sequence = ?", [row["sequence"] as Int64]) }
        return expired.compactMap { PushID(bytes: $0["id"] as Data) }
    }

    package func counts() throws -> StoreCounts {
        func count(_ sql: String) throws -> Int { try Int.fetchOne(db, sql: sql) ?? 0 }
        return StoreCounts(
            teams: try count("SELECT count(*) FROM team"),
            devices: try count("SELECT count(*) FROM device WHERE revokedAt IS NULL"),
            tokens: try count("SELECT count(*) FROM token WHERE endedAt IS NULL"),
            stored: try count("SELECT count(*) FROM push WHERE slot = 0"),
            held: try count("SELECT count(*) FROM push WHERE slot = 1"))
    }
}

/// How much the store holds.
package struct StoreCounts: Sendable, Hashable {
    package var teams: Int
    package var devices: Int
    package var tokens: Int
    package var stored: Int
    /// Nil where they are counted as stored.
    package var held: Int?

    package init(teams: Int, devices: Int, tokens: Int, stored: Int, held: Int?) {
        self.teams = teams
        self.devices = devices
        self.tokens = tokens
        self.stored = stored
        self.held = held
    }
}

extension StoredPush {
    /// Nil for a row that makes no sense.
    fileprivate init?(row: Row) {
        guard let id = PushID(bytes: row["id"] as Data), let device = DeviceID(bytes: row["device"] as Data),
            let slot = Slot(rawValue: row["slot"]), let priority = PushPriority(rawValue: row["priority"]),
            let type = PushType(rawValue: row["type"])
        else { return nil }
        self.init(
            push: Push(
                id: id, device: device, topic: row["topic"], receivedAt: row["receivedAt"],
                lifetime: .until(row["expiry"]), priority: priority, type: type, collapseID: row["collapseID"],
                isSilent: row["isSilent"], payload: Array(row["payload"] as Data)),
            slot: slot, sequence: row["sequence"], heldUntil: row["heldUntil"])
    }
}

extension Identifier {
    var data: Data { Data(bytes) }
}
