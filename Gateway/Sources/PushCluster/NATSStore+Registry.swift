import Foundation
package import PushProtocol
import PushRouting
package import PushStore

extension NATSStore {
    // MARK: - Providers

    package func providers() async throws(StoreError) -> ProviderRecords {
        var records = ProviderRecords()
        let decoder = JSONDecoder()
        for kept in try await jetStream.all(">", in: Subjects.registry) {
            let data = Data(kept.data)
            switch kept.subject.split(separator: ".").dropFirst(2).first {
            case "team"?: (try? decoder.decode(TeamRecord.self, from: data)).map { records.teams.append($0) }
            case "key"?: (try? decoder.decode(KeyRecord.self, from: data)).map { records.keys.append($0) }
            case "topic"?: (try? decoder.decode(TopicRecord.self, from: data)).map { records.topics.append($0) }
            default: break
            }
        }
        records.teams.sort { $0.id < $1.id }
        records.keys.sort { $0.id < $1.id }
        records.topics.sort { $0.name < $1.name }
        return records
    }

    package func addTeam(_ id: String, name: String, at: Int64) async throws(StoreError) {
        try await add(TeamRecord(id: id, name: name, createdAt: at), "team", id)
    }

    package func suspendTeam(_ id: String, at time: Int64?) async throws(StoreError) {
        let found = try await change(Subjects.registry("team", id), in: Subjects.registry, TeamRecord.self) {
            (team) throws(StoreError) in team.suspendedAt = time
        }
        if found == nil { throw .noTeam(id) }
    }

    package func addKey(_ key: KeyRecord) async throws(StoreError) {
        try await requireTeam(key.team)
        try await add(key, "key", key.id)
    }

    package func revokeKey(_ id: String, at: Int64) async throws(StoreError) {
        let found = try await change(Subjects.registry("key", id), in: Subjects.registry, KeyRecord.self) {
            (key) throws(StoreError) in key.revokedAt = key.revokedAt ?? at
        }
        if found == nil { throw StoreError(.refused, "The key '\(id)' does not exist.") }
    }

    package func addTopic(_ topic: TopicRecord) async throws(StoreError) {
        try await requireTeam(topic.team)
        try await add(topic, "topic", topic.name)
    }

    private func requireTeam(_ id: String) async throws(StoreError) {
        guard try await jetStream.last(Subjects.registry("team", id), in: Subjects.registry) != nil else {
            throw .noTeam(id)
        }
    }

    private func add(_ value: some Encodable, _ kind: String, _ name: String) async throws(StoreError) {
        let subject = Subjects.registry(kind, name)
        guard case .at = try await jetStream.write(subject, try Self.encode(value), last: 0) else {
            throw .exists(kind, name)
        }
    }

    // MARK: - Values that change

    static func encode(_ value: some Encodable) throws(StoreError) -> [UInt8] {
        do {
            return Array(try JSONEncoder().encode(value))
        } catch {
            throw StoreError(.other, "\(error)")
        }
    }

    /// The maximum number of attempts to change a value that other gateways also change.
    private static let attempts = 50

    /// Changes the value of `subject`, and retries if another gateway changes the value at the same time. Returns nil
    /// if the subject has no value.
    func change<Value: Codable & Sendable>(
        _ subject: String, in stream: String, _ type: Value.Type,
        _ body: (inout Value) throws(StoreError) -> Void
    ) async throws(StoreError) -> Value? {
        for _ in 0..<Self.attempts {
            guard let kept = try await jetStream.last(subject, in: stream),
                var value = try? JSONDecoder().decode(type, from: Data(kept.data))
            else { return nil }
            let before = try Self.encode(value)
            try body(&value)
            let data = try Self.encode(value)
            if data == before { return value }
            if case .at = try await jetStream.write(subject, data, last: kept.sequence) { return value }
        }
        throw StoreError(.unavailable, "Too many gateways changed the same value at once.")
    }

    // MARK: - Enrolment

    package func addEnrolment(hash: [UInt8], name: String, expiresAt: Int64, now: Int64) async throws(StoreError) {
        let data = try Self.encode(KeptEnrolment(name: name, expiresAt: expiresAt))
        guard case .at = try await jetStream.write(Subjects.enrolment(hash), data, last: 0) else {
            throw StoreError(.refused, "The code already exists.")
        }
    }

    package func enrol(
        _ id: DeviceID, hash: [UInt8], key: [UInt8], name: String?, now: Int64
    ) async throws(StoreError) -> DeviceRecord? {
        let subject = Subjects.enrolment(hash)
        guard let kept = try await jetStream.last(subject, in: Subjects.enrolments),
            let enrolment = try? JSONDecoder().decode(KeptEnrolment.self, from: Data(kept.data)),
            enrolment.expiresAt > now
        else { return nil }
        // If two gateways have read the code, only one of them can remove it.
        guard case .at = try await jetStream.write(subject, [], last: kept.sequence, isRemoval: true) else {
            return nil
        }
        let device = KeptDevice(publicKey: Data(key), name: name ?? enrolment.name, createdAt: now)
        guard case .at = try await jetStream.write(Subjects.device(id), try Self.encode(device), last: 0) else {
            throw StoreError(.other, "The device already exists.")
        }
        return device.record(id)
    }

    // MARK: - Devices

    private func kept(_ id: DeviceID) async throws(StoreError) -> KeptDevice? {
        let kept = try await jetStream.last(Subjects.device(id), in: Subjects.devices)
        return kept.flatMap { try? JSONDecoder().decode(KeptDevice.self, from: Data($0.data)) }
    }

    package func device(_ id: DeviceID) async throws(StoreError) -> DeviceRecord? {
        guard let device = try await kept(id) else { return nil }
        return device.record(id, seenAt: try await seen(id))
    }

    private func seen(_ id: DeviceID) async throws(StoreError) -> Int64? {
        let kept = try await jetStream.last(Subjects.seen(id), in: Subjects.seen)
        return kept.flatMap { Int64(String(decoding: $0.data, as: UTF8.self)) }
    }

    package func deviceConnects(_ id: DeviceID) async throws(StoreError) -> DeviceRecord? {
        // `attach` writes the time of the connection, so nothing is written here.
        try await kept(id)?.record(id)
    }

    package func devices(limit: Int) async throws(StoreError) -> [DeviceRecord] {
        var records: [DeviceRecord] = []
        for kept in try await jetStream.all(">", in: Subjects.devices, limit: limit) {
            guard let id = kept.subject.split(separator: ".").last.flatMap({ Subjects.identifier($0) }),
                let device = try? JSONDecoder().decode(KeptDevice.self, from: Data(kept.data))
            else { continue }
            records.append(device.record(id, seenAt: try await seen(id)))
        }
        return records.sorted { $0.createdAt < $1.createdAt }
    }

    package func revokeDevice(_ id: DeviceID, at: Int64) async throws(StoreError) -> [String] {
        var ended: [String] = []
        // Read the stored pushes first. They are found by the topics of the tokens, and the tokens are ended next.
        let waiting = try await self.waiting(for: id)
        let found = try await change(Subjects.device(id), in: Subjects.devices, KeptDevice.self) {
            (device) throws(StoreError) in
            device.revokedAt = device.revokedAt ?? at
            ended = device.tokens.filter { $0.endedAt == nil }.map(\.token)
            for token in ended { device.end(token, by: .unregistered, at: at) }
        }
        if found == nil { throw StoreError(.refused, "The device '\(id)' does not exist.") }
        discard(waiting, of: id, at: at)
        return ended
    }

    private func discard(_ pushes: [QueuedPush], of device: DeviceID, at: Int64) {
        for stored in pushes {
            let note = LogNote(stored.push.id, [.discarded(.unregistered)], at: at)
            remove(stored.place, device: device, note: note) { _ in }
        }
    }

    // MARK: - Tokens

    package func token(_ token: String) async throws(StoreError) -> TokenRecord? {
        guard let kept = try await jetStream.last(Subjects.token(of: token), in: Subjects.tokens),
            let id = Subjects.identifier(String(decoding: kept.data, as: UTF8.self))
        else { return nil }
        return try await tokens(of: id).first { $0.token == token }
    }

    package func tokens(of device: DeviceID) async throws(StoreError) -> [TokenRecord] {
        try await kept(device)?.records(device) ?? []
    }

    package func register(
        _ topic: String, device: DeviceID, fresh: String, isFreshWanted: Bool, limit: Int, at: Int64
    ) async throws(StoreError) -> (token: String, ended: String?) {
        if !isFreshWanted,
            let current = try await kept(device)?.tokens.first(where: {
                $0.topic == topic && $0.endedAt == nil
            })
        {
            return (current.token, nil)
        }
        // Write the token's owner first, so that the owner of a token in use can always be found.
        _ = try await jetStream.write(Subjects.token(of: fresh), Array(Subjects.name(device).utf8))
        var registration = KeptDevice.Registration(token: fresh)
        do throws(StoreError) {
            let found = try await change(Subjects.device(device), in: Subjects.devices, KeptDevice.self) {
                (kept) throws(StoreError) in
                registration = try kept.register(
                    topic, fresh: fresh, isFreshWanted: isFreshWanted, limit: limit, at: at)
            }
            if found == nil { throw StoreError(.refused, "The device '\(device)' does not exist.") }
        } catch {
            if error.code == .refused { try? await forget(fresh) }
            throw error
        }
        for token in registration.forgotten { try await forget(token) }
        return (registration.token, registration.ended)
    }

    private func forget(_ token: String) async throws(StoreError) {
        guard let kept = try await jetStream.last(Subjects.token(of: token), in: Subjects.tokens) else { return }
        jetStream.remove(kept.sequence, in: Subjects.tokens) { _ in }
    }

    package func unregister(_ topic: String, device: DeviceID, at: Int64) async throws(StoreError) -> String? {
        let waiting = try await self.waiting(for: device).filter { $0.push.topic == topic }
        var ended: String?
        _ = try await change(Subjects.device(device), in: Subjects.devices, KeptDevice.self) {
            (kept) throws(StoreError) in
            ended = kept.tokens.first { $0.topic == topic && $0.endedAt == nil }?.token
            if let ended { kept.end(ended, by: .unregistered, at: at) }
        }
        if ended != nil { discard(waiting, of: device, at: at) }
        return ended
    }
}
