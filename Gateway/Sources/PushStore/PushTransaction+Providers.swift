import Foundation
import GRDB

extension PushTransaction {
    package func teams() throws -> [TeamRecord] {
        try Row.fetchAll(db, sql: "SELECT * FROM team ORDER BY id").map { row in
            TeamRecord(id: row["id"], name: row["name"], createdAt: row["createdAt"], suspendedAt: row["suspendedAt"])
        }
    }

    package func addTeam(_ id: String, name: String, at: Int64) throws {
        guard try !exists("team", "id", id) else { throw StoreError.exists("team", id) }
        try run("INSERT INTO team (id, name, createdAt) VALUES (?, ?, ?)", [id, name, at])
    }

    /// Suspends a team, or ends its suspension.
    ///
    /// - Parameter time: the time of the suspension; nil to end the suspension.
    package func suspendTeam(_ id: String, at time: Int64?) throws {
        try run("UPDATE team SET suspendedAt = ? WHERE id = ?", [time, id])
        guard db.changesCount == 1 else { throw StoreError.noTeam(id) }
    }

    package func keys() throws -> [KeyRecord] {
        try Row.fetchAll(db, sql: "SELECT * FROM signingKey ORDER BY id").map { row in
            KeyRecord(
                id: row["id"], team: row["team"],
                environment: KeyRecord.Environment(rawValue: row["environment"]) ?? .any,
                publicKey: row["publicKey"], createdAt: row["createdAt"], revokedAt: row["revokedAt"])
        }
    }

    package func addKey(_ key: KeyRecord) throws {
        guard try exists("team", "id", key.team) else { throw StoreError.noTeam(key.team) }
        guard try !exists("signingKey", "id", key.id) else { throw StoreError.exists("key", key.id) }
        try run(
            "INSERT INTO signingKey (id, team, environment, publicKey, createdAt) VALUES (?, ?, ?, ?, ?)",
            [key.id, key.team, key.environment.rawValue, key.publicKey, key.createdAt])
    }

    package func revokeKey(_ id: String, at: Int64) throws {
        try run("UPDATE signingKey SET revokedAt = coalesce(revokedAt, ?) WHERE id = ?", [at, id])
        guard db.changesCount == 1 else { throw StoreError(.refused, "The key '\(id)' does not exist.") }
    }

    package func topics() throws -> [TopicRecord] {
        try Row.fetchAll(db, sql: "SELECT * FROM topic ORDER BY name").map { row in
            TopicRecord(name: row["name"], team: row["team"], createdAt: row["createdAt"])
        }
    }

    package func addTopic(_ topic: TopicRecord) throws {
        guard try exists("team", "id", topic.team) else { throw StoreError.noTeam(topic.team) }
        guard try !exists("topic", "name", topic.name) else { throw StoreError.exists("topic", topic.name) }
        try run(
            "INSERT INTO topic (name, team, createdAt) VALUES (?, ?, ?)", [topic.name, topic.team, topic.createdAt])
    }

    private func exists(_ table: String, _ column: String, _ value: String) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM \(table) WHERE \(column) = ?)", arguments: [value]) ?? false
    }
}

extension TopicRecord {
    package init(_ name: String, team: String, at: Int64) {
        self.init(name: name, team: team, createdAt: at)
    }
}
