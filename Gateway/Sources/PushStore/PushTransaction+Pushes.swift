import Foundation
import GRDB
package import PushProtocol
package import PushRouting

extension PushTransaction {
    /// Stores `push` in its slot. Returns the replaced pushes, and the pushes that were removed to make room.
    ///
    /// A silent push that the rate limit allows also replaces the held push of its topic.
    package func store(
        _ push: Push, slot: Slot, heldUntil: Int64?
    ) throws -> Stored {
        guard let expiry = push.expiry else { throw StoreError(.refused, "A push with one attempt is not stored.") }
        let slots: [Slot] = slot == .silent ? [.silent, .held] : [slot]
        let device = push.device.data
        var replaced: [PushID] = []
        for slot in slots {
            let delete = try db.cachedStatement(
                sql: "DELETE FROM push WHERE device = ? AND topic = ? AND slot = ? RETURNING id")
            // Fetch all rows, so that the statement finishes. It returns at most one row.
            let ids = try Data.fetchAll(delete, arguments: [device, push.topic, slot.text])
            replaced += ids.compactMap { PushID(bytes: $0) }
        }
        try run(
            """
            INSERT INTO push (id, device, topic, slot, receivedAt, expiry, priority, type, collapseID, isSilent,
                heldUntil, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                push.id.data, device, push.topic, slot.text, push.receivedAt, expiry, push.priority.rawValue,
                push.type.rawValue, push.collapseID, push.isSilent, heldUntil, Data(push.payload),
            ])
        let stored = QueuedPush(push: push, slot: slot, sequence: db.lastInsertedRowID, heldUntil: heldUntil)
        let evicted =
            slot.isAlert ? try makeRoomForAlerts(of: push.device) : slot.isKept ? try makeRoom(for: stored) : []
        return Stored(stored: stored, replaced: replaced, evicted: evicted)
    }

    /// Removes the oldest of the alerts that arrived while the device was connected, until the others are within the
    /// limit.
    private func makeRoomForAlerts(of device: DeviceID) throws -> [PushID] {
        // A full stop sorts directly after a hyphen, so this range covers all slots with the prefix.
        let alerts = try db.cachedStatement(
            sql: """
                SELECT sequence, id, length(payload) AS size FROM push WHERE device = ? AND slot >= 'a-' AND slot < 'a.'
                ORDER BY sequence DESC
                """)
        return try evict(alerts, [device.data], KeptMessages.countOfDevice, KeptMessages.bytesOfDevice)
    }

    /// Removes the oldest UnifiedPush messages until the others are within the limit of the registration, and then
    /// within the limit of the device.
    private func makeRoom(for stored: QueuedPush) throws -> [PushID] {
        let device = stored.push.device.data
        let ofRegistration = try db.cachedStatement(
            sql: """
                SELECT sequence, id, length(payload) AS size FROM push WHERE device = ? AND topic = ? ORDER BY sequence DESC
                """)
        var evicted = try evict(
            ofRegistration, [device, stored.push.topic], KeptMessages.count, KeptMessages.bytes)
        // A semicolon sorts directly after a colon. So this range covers all topics with the prefix, and uses the
        // index.
        let prefix = UnifiedPushTopic.prefix
        let ofDevice = try db.cachedStatement(
            sql: """
                SELECT sequence, id, length(payload) AS size FROM push WHERE device = ? AND topic >= ? AND topic < ?
                ORDER BY sequence DESC
                """)
        evicted += try evict(
            ofDevice, [device, prefix, prefix.dropLast() + ";"], KeptMessages.countOfDevice, KeptMessages.bytesOfDevice)
        return evicted
    }

    /// Removes the oldest rows beyond the limits.
    ///
    /// - Parameter newest: the rows, from the newest to the oldest.
    private func evict(
        _ newest: Statement, _ arguments: StatementArguments, _ count: Int, _ bytes: Int
    ) throws -> [PushID] {
        var evicted: [PushID] = []
        var (kept, size) = (0, 0)
        for row in try Row.fetchAll(newest, arguments: arguments) {
            kept += 1
            size += row["size"]
            guard kept > count || size > bytes else { continue }
            try run("DELETE FROM push WHERE sequence = ?", [row["sequence"] as Int64])
            if let id = PushID(bytes: row["id"] as Data) { evicted.append(id) }
        }
        return evicted.reversed()
    }

    /// Returns the pushes stored for `device`, in order of arrival.
    package func waiting(for device: DeviceID) throws -> [QueuedPush] {
        let select = try db.cachedStatement(sql: "SELECT * FROM push WHERE device = ? ORDER BY sequence")
        return try Row.fetchAll(select, arguments: [device.data]).compactMap(QueuedPush.init(row:))
    }

    /// Removes one push from storage. Does nothing if another push has replaced it.
    package func remove(_ place: StoredPlace, device: DeviceID) throws {
        try run(
            "DELETE FROM push WHERE sequence = ? AND device = ? AND id = ?",
            [place.sequence, device.data, place.id.data])
    }

    /// Removes a UnifiedPush message from storage without reading it. Returns false if the message is not stored.
    package func withdraw(_ push: PushID, topic: String, device: DeviceID) throws -> Bool {
        try run("DELETE FROM push WHERE device = ? AND topic = ? AND id = ?", [device.data, topic, push.data])
        return db.changesCount > 0
    }

    /// Removes at most `limit` expired pushes from storage and returns their ids.
    package func removeExpired(now: RouteTime, limit: Int) throws -> [PushID] {
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
            stored: try count("SELECT count(*) FROM push WHERE slot <> 'held'"),
            held: try count("SELECT count(*) FROM push WHERE slot = 'held'"))
    }
}

/// The numbers of teams, devices, tokens and pushes in the store.
package struct StoreCounts: Sendable, Hashable {
    package var teams: Int
    package var devices: Int
    package var tokens: Int
    package var stored: Int
    /// The number of pushes held by the rate limit; nil if `stored` includes them.
    package var held: Int?

    package init(teams: Int, devices: Int, tokens: Int, stored: Int, held: Int?) {
        self.teams = teams
        self.devices = devices
        self.tokens = tokens
        self.stored = stored
        self.held = held
    }
}

extension QueuedPush {
    /// Creates a push from a row; nil if the row is invalid.
    fileprivate init?(row: Row) {
        guard let id = PushID(bytes: row["id"] as Data), let device = DeviceID(bytes: row["device"] as Data),
            let slot = Slot(text: row["slot"]), let priority = PushPriority(rawValue: row["priority"]),
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
    var data: Data { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Data($0) } }
}
