import Foundation
import GRDB
package import PushProtocol
import PushRouting

extension PushTransaction {
    // MARK: - Enrolment

    /// Stores an enrolment code.
    ///
    /// - Parameter hash: the hash of the code. The code itself is not stored.
    package func addEnrolment(hash: [UInt8], name: String, expiresAt: Int64, now: Int64) throws {
        try run("DELETE FROM enrolment WHERE expiresAt <= ?", [now])
        try run("INSERT INTO enrolment (hash, name, expiresAt) VALUES (?, ?, ?)", [Data(hash), name, expiresAt])
    }

    /// Creates a device with an enrolment code and deletes the code. Returns nil if the code is not valid.
    ///
    /// - Parameter name: the device's name; nil for the name that was given when the code was made.
    package func enrol(_ id: DeviceID, hash: [UInt8], key: [UInt8], name: String?, now: Int64) throws -> DeviceRecord? {
        let row = try Row.fetchOne(
            db, sql: "SELECT name FROM enrolment WHERE hash = ? AND expiresAt > ?", arguments: [Data(hash), now])
        guard let row else { return nil }
        try run("DELETE FROM enrolment WHERE hash = ?", [Data(hash)])
        let device = DeviceRecord(
            id: id, publicKey: key, name: name ?? row["name"], createdAt: now, seenAt: nil, revokedAt: nil)
        try run(
            "INSERT INTO device (id, publicKey, name, createdAt) VALUES (?, ?, ?, ?)",
            [id.data, Data(key), device.name, now])
        return device
    }

    // MARK: - Devices

    package func device(_ id: DeviceID) throws -> DeviceRecord? {
        let select = try db.cachedStatement(sql: "SELECT * FROM device WHERE id = ?")
        return try Row.fetchOne(select, arguments: [id.data]).flatMap(DeviceRecord.init(row:))
    }

    package func devices(limit: Int) throws -> [DeviceRecord] {
        try Row.fetchAll(db, sql: "SELECT * FROM device ORDER BY createdAt LIMIT ?", arguments: [limit])
            .compactMap(DeviceRecord.init(row:))
    }

    package func sawDevice(_ id: DeviceID, at: Int64) throws {
        try run("UPDATE device SET seenAt = ? WHERE id = ?", [at, id.data])
    }

    /// Revokes the device, unregisters its tokens and removes its stored pushes. Returns the tokens and the pushes.
    package func revokeDevice(_ id: DeviceID, at: Int64) throws -> (tokens: [String], pushes: [PushID]) {
        try run("UPDATE device SET revokedAt = coalesce(revokedAt, ?) WHERE id = ?", [at, id.data])
        guard db.changesCount == 1 else { throw StoreError(.refused, "The device '\(id)' does not exist.") }
        let tokens = try tokens(of: id).filter { $0.endedAt == nil }.map(\.token)
        try run(
            "UPDATE token SET endedAt = ?, endedBy = 'unregistered' WHERE device = ? AND endedAt IS NULL",
            [at, id.data])
        let pushes = try waiting(for: id).map(\.push.id)
        try run("DELETE FROM push WHERE device = ?", [id.data])
        return (tokens, pushes)
    }

    // MARK: - Tokens

    package func token(_ token: String) throws -> TokenRecord? {
        let select = try db.cachedStatement(sql: "SELECT * FROM token WHERE token = ?")
        return try Row.fetchOne(select, arguments: [token]).flatMap(TokenRecord.init(row:))
    }

    package func tokens(of device: DeviceID) throws -> [TokenRecord] {
        try Row.fetchAll(
            db, sql: "SELECT * FROM token WHERE device = ? ORDER BY createdAt", arguments: [device.data]
        ).compactMap(TokenRecord.init(row:))
    }

    /// Returns the token of `topic` on `device`. If no token exists, or if `isFreshWanted` is set, stores `fresh` as
    /// the token in use. Refuses a revoked device.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of a device's tokens in use, and the maximum number of its ended tokens that are
    ///     remembered.
    ///   - isFreshWanted: whether to end the token in use and to replace it.
    /// - Returns: the token in use, and the token that it replaced.
    package func register(
        _ topic: String, device: DeviceID, fresh: String, isFreshWanted: Bool, limit: Int, at: Int64
    ) throws -> (token: String, ended: String?) {
        guard let record = try self.device(device), record.revokedAt == nil else {
            throw StoreError(.refused, "The device '\(device)' does not exist or is revoked.")
        }
        let current = try String.fetchOne(
            db, sql: "SELECT token FROM token WHERE device = ? AND topic = ? AND endedAt IS NULL",
            arguments: [device.data, topic])
        if let current, !isFreshWanted { return (current, nil) }
        if let current {
            try run("UPDATE token SET endedAt = ?, endedBy = 'replaced' WHERE token = ?", [at, current])
        } else {
            let count =
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM token WHERE device = ? AND endedAt IS NULL",
                    arguments: [device.data]) ?? 0
            guard count < limit else { throw StoreError(.refused, "The limit of \(limit) tokens is reached.") }
        }
        try run(
            "INSERT INTO token (token, device, topic, createdAt) VALUES (?, ?, ?, ?)",
            [fresh, device.data, topic, at])
        // Requests with an ended token get status 410 for some time. The limits prevent a device from filling the
        // disk by requesting many tokens or topics.
        try run(
            """
            DELETE FROM token WHERE token IN (
                SELECT token FROM token WHERE device = ? AND topic = ? AND endedAt IS NOT NULL
                ORDER BY endedAt DESC LIMIT -1 OFFSET ?)
            """, [device.data, topic, TokenRecord.endedOfTopic])
        try run(
            """
            DELETE FROM token WHERE token IN (
                SELECT token FROM token WHERE device = ? AND endedAt IS NOT NULL
                ORDER BY endedAt DESC, createdAt DESC LIMIT -1 OFFSET ?)
            """, [device.data, limit])
        return (fresh, current)
    }

    /// Ends the token of an app that was removed, and removes its stored pushes.
    package func unregister(
        _ topic: String, device: DeviceID, at: Int64
    ) throws -> (token: String?, pushes: [PushID]) {
        let current = try String.fetchOne(
            db, sql: "SELECT token FROM token WHERE device = ? AND topic = ? AND endedAt IS NULL",
            arguments: [device.data, topic])
        guard let current else { return (nil, []) }
        try run("UPDATE token SET endedAt = ?, endedBy = 'unregistered' WHERE token = ?", [at, current])
        let pushes = try waiting(for: device).filter { $0.push.topic == topic }.map(\.push.id)
        try run("DELETE FROM push WHERE device = ? AND topic = ?", [device.data, topic])
        return (current, pushes)
    }
}

extension DeviceRecord {
    fileprivate init?(row: Row) {
        guard let id = DeviceID(bytes: row["id"] as Data) else { return nil }
        self.init(
            id: id, publicKey: Array(row["publicKey"] as Data), name: row["name"], createdAt: row["createdAt"],
            seenAt: row["seenAt"], revokedAt: row["revokedAt"])
    }
}

extension TokenRecord {
    fileprivate init?(row: Row) {
        guard let device = DeviceID(bytes: row["device"] as Data) else { return nil }
        self.init(
            token: row["token"], device: device, topic: row["topic"], createdAt: row["createdAt"],
            endedAt: row["endedAt"], endedBy: (row["endedBy"] as String?).flatMap(End.init(rawValue:)))
    }
}
