import GRDB
package import PushProtocol
package import PushRouting

/// The store of a single machine. Operations that arrive together share a transaction and a sync of the disk.
extension PushStore: GatewayStore {
    package var isShared: Bool { false }

    package func providers() async throws(StoreError) -> ProviderRecords {
        try await read { ProviderRecords(teams: try $0.teams(), keys: try $0.keys(), topics: try $0.topics()) }
    }

    package func addTeam(_ id: String, name: String, at: Int64) async throws(StoreError) {
        try await write { try $0.addTeam(id, name: name, at: at) }
    }

    package func suspendTeam(_ id: String, at time: Int64?) async throws(StoreError) {
        try await write { try $0.suspendTeam(id, at: time) }
    }

    package func addKey(_ key: KeyRecord) async throws(StoreError) {
        try await write { try $0.addKey(key) }
    }

    package func revokeKey(_ id: String, at: Int64) async throws(StoreError) {
        try await write { try $0.revokeKey(id, at: at) }
    }

    package func addTopic(_ topic: TopicRecord) async throws(StoreError) {
        try await write { try $0.addTopic(topic) }
    }

    package func addEnrolment(hash: [UInt8], name: String, expiresAt: Int64, now: Int64) async throws(StoreError) {
        try await write { try $0.addEnrolment(hash: hash, name: name, expiresAt: expiresAt, now: now) }
    }

    package func enrol(
        _ id: DeviceID, hash: [UInt8], key: [UInt8], name: String?, now: Int64
    ) async throws(StoreError) -> DeviceRecord? {
        try await write { try $0.enrol(id, hash: hash, key: key, name: name, now: now) }
    }

    package func device(_ id: DeviceID) async throws(StoreError) -> DeviceRecord? {
        try await read { try $0.device(id) }
    }

    package func deviceConnects(_ id: DeviceID) async throws(StoreError) -> DeviceRecord? {
        // Queue the read after earlier writes, so that it finds a device that was just created.
        let result: Result<DeviceRecord?, StoreError> = await withCheckedContinuation { continuation in
            enqueueReading({ try $0.device(id) }, completion: { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    package func devices(limit: Int) async throws(StoreError) -> [DeviceRecord] {
        try await read { try $0.devices(limit: limit) }
    }

    package func revokeDevice(_ id: DeviceID, at: Int64) async throws(StoreError) -> [String] {
        try await write { transaction in
            let ended = try transaction.revokeDevice(id, at: at)
            for push in ended.pushes { try transaction.log(push, .discarded(.unregistered), at: at) }
            return ended.tokens
        }
    }

    package func token(_ token: String) async throws(StoreError) -> TokenRecord? {
        try await read { try $0.token(token) }
    }

    package func tokens(of device: DeviceID) async throws(StoreError) -> [TokenRecord] {
        try await read { try $0.tokens(of: device) }
    }

    package func register(
        _ topic: String, device: DeviceID, fresh: String, isFreshWanted: Bool, limit: Int, at: Int64
    ) async throws(StoreError) -> (token: String, ended: String?) {
        try await write {
            try $0.register(
                topic, device: device, fresh: fresh, isFreshWanted: isFreshWanted, limit: limit, at: at)
        }
    }

    package func unregister(_ topic: String, device: DeviceID, at: Int64) async throws(StoreError) -> String? {
        try await write { transaction in
            let ended = try transaction.unregister(topic, device: device, at: at)
            for push in ended.pushes { try transaction.log(push, .discarded(.unregistered), at: at) }
            return ended.token
        }
    }

    package func store(
        _ push: Push, slot: Slot, heldUntil: Int64?, note: LogNote,
        completion: @escaping @Sendable (Result<Stored, StoreError>) -> Void
    ) {
        enqueue(
            { transaction in
                try transaction.write(note)
                return try transaction.store(push, slot: slot, heldUntil: heldUntil)
            }, completion: completion)
    }

    package func waiting(
        for device: DeviceID, completion: @escaping @Sendable (Result<[QueuedPush], StoreError>) -> Void
    ) {
        enqueueReading({ try $0.waiting(for: device) }, completion: completion)
    }

    package func remove(
        _ place: StoredPlace, device: DeviceID, note: LogNote, completion: @escaping @Sendable (StoreError?) -> Void
    ) {
        enqueue { transaction in
            try transaction.remove(place, device: device)
            try transaction.write(note)
        } completion: {
            completion($0.failure)
        }
    }

    package func withdraw(
        _ push: PushID, topic: String, device: DeviceID, at: Int64,
        completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        enqueue(
            { transaction in
                guard try transaction.withdraw(push, topic: topic, device: device) else { return false }
                try transaction.log(push, .discarded(.withdrawn), at: at)
                return true
            }, completion: completion)
    }

    package func write(_ note: LogNote, completion: @escaping @Sendable (StoreError?) -> Void) {
        enqueue({ try $0.write(note) }, completion: { completion($0.failure) })
    }

    package func log(of push: PushID) async throws(StoreError) -> [LogEntry] {
        try await read { try $0.log(of: push) }
    }

    package func log(after entry: Int64, limit: Int) async throws(StoreError) -> [LogEntry] {
        try await read { try $0.log(after: entry, limit: limit) }
    }

    package func lastLogEntry() async throws(StoreError) -> Int64 {
        try await read { try $0.lastLogEntry() }
    }

    package func logIsFollowed(_ isFollowed: Bool) {}

    package func counts() async throws(StoreError) -> StoreCounts {
        try await read { try $0.counts() }
    }

    package func probe() async throws(StoreError) {
        try await write { try $0.probe() }
    }

    package func tidy(now: RouteTime, logLimit: Int) async throws(StoreError) {
        var count = 0
        repeat {
            count = try await write { transaction in
                let expired = try transaction.removeExpired(now: now, limit: 1_000)
                for push in expired { try transaction.log(push, .discarded(.expired), at: now.wallMilliseconds) }
                return expired.count
            }
        } while count == 1_000
        try await write { try $0.pruneLog(to: logLimit) }
    }

    package func settle() async throws(StoreError) {
        try await write { _ in }
    }

    package func close() async throws(StoreError) {
        do {
            try closeDatabase()
        } catch {
            throw StoreError(error)
        }
    }

    package func attach(_ device: DeviceID, connection: UInt64, at: Int64) {
        // Ignore a failure to record the time, because the device is connected nevertheless.
        enqueue({ try $0.sawDevice(device, at: at) }, completion: { _ in })
    }

    // MARK: - Operations of a shared store

    package func listen(_ listener: any StoreListener) {}
    package func catchUp() async throws(StoreError) {}
    package func detach(_ device: DeviceID, connection: UInt64) {}

    package func takeSilent(
        _ topic: String, device: DeviceID, _ settings: TokenBucket.Settings, wallSeconds: Double,
        completion: @escaping @Sendable (Result<TokenBucket.Verdict, StoreError>) -> Void
    ) {
        enqueue({ _ in throw StoreError(.other, "Only a shared store has buckets.") }, completion: completion)
    }

    package func keepsEach(
        _ topic: String, of device: DeviceID, completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        enqueue({ _ in throw StoreError(.other, "Only a shared store has other gateways.") }, completion: completion)
    }

    package func offer(
        _ push: Push, completion: @escaping @Sendable (Result<DeliveryEvent.Discard?, StoreError>) -> Void
    ) {
        enqueue({ _ in .notConnected }, completion: completion)
    }
}

extension PushTransaction {
    /// Reads the table of pushes, and rewrites the unused `user_version` in the file's header with the value that it
    /// has.
    fileprivate func probe() throws {
        _ = try Row.fetchOne(db, sql: "SELECT id FROM push LIMIT 1")
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        try db.execute(sql: "PRAGMA user_version = \(version)")
    }

    fileprivate func write(_ note: LogNote) throws {
        if let push = note.received { try logReceived(push, withPayload: note.withPayload) }
        for event in note.events { try log(note.push, event, at: note.at) }
    }
}

extension Result where Failure == StoreError {
    fileprivate var failure: StoreError? {
        switch self {
        case .success: nil
        case .failure(let error): error
        }
    }
}
