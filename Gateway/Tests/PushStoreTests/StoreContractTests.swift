import PushCluster
import PushProtocol
import PushRouting
import PushStore
import Synchronization
import Testing

/// Tests of the contract that every kind of store fulfils.
@Suite(.serialized, .timeLimit(.minutes(20))) struct StoreContractTests {
    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        case sqlite = "SQLite"
        case nats = "one NATS server"
        case cluster = "three NATS servers"

        var testDescription: String { rawValue }
    }

    static let team = "TEAM000001"
    static let mail = "org.example.Mail"
    static let news = "org.example.News"

    /// - Parameter slot: the slot, or nil for the one that the push has if no rate limit holds it.
    static func put(
        _ push: Push, in store: any GatewayStore, slot: Slot? = nil, heldUntil: Int64? = nil
    ) async throws -> QueuedPush {
        let note = LogNote(received: push, withPayload: true, [], at: push.receivedAt)
        return try await withCheckedThrowingContinuation { continuation in
            store.store(push, slot: slot ?? push.slot(keepsEach: false), heldUntil: heldUntil, note: note) {
                continuation.resume(with: $0)
            }
        }.stored
    }

    /// A store with a team, two topics and an enrolled device. `second` is another gateway's view of it.
    struct World {
        var store: any GatewayStore
        var second: any GatewayStore
        var device: DeviceID
        private var servers: NATSServers?

        init(_ kind: Kind) async throws {
            switch kind {
            case .sqlite:
                store = try PushStore(inMemory: ())
                second = store
            case .nats, .cluster:
                let servers = try NATSServers(kind == .nats ? 1 : 3)
                store = try await servers.store(replicas: kind == .nats ? 1 : 3)
                second = try await servers.store(replicas: kind == .nats ? 1 : 3)
                self.servers = servers
            }
            device = DeviceID(high: 1, low: 1)
            try await store.addTeam(team, name: "Example", at: 1)
            try await store.addTopic(TopicRecord(mail, team: team, at: 1))
            try await store.addTopic(TopicRecord(news, team: team, at: 1))
            try await store.addEnrolment(hash: [1], name: "laptop", expiresAt: 1_000, now: 1)
            let key = [UInt8](repeating: 1, count: 32)
            let record = try await store.enrol(device, hash: [1], key: key, name: nil, now: 2)
            #expect(record?.name == "laptop")
            for topic in [mail, news] {
                _ = try await store.register(
                    topic, device: device, fresh: "token-" + topic, isFreshWanted: false, limit: 9, at: 3)
            }
        }

        func push(
            _ number: UInt64, topic: String = mail, isSilent: Bool = false, lifetime: Push.Lifetime = .until(5_000)
        ) -> Push {
            Push(
                id: PushID(high: 7, low: number), device: device, topic: topic, receivedAt: Int64(number),
                lifetime: lifetime, priority: .immediate, type: isSilent ? .background : .alert, collapseID: "c",
                isSilent: isSilent, payload: Array("{\n}".utf8))
        }

        func put(_ push: Push, slot: Slot? = nil, heldUntil: Int64? = nil) async throws -> QueuedPush {
            try await StoreContractTests.put(push, in: store, slot: slot, heldUntil: heldUntil)
        }

        func remove(_ stored: QueuedPush) async throws {
            let note = LogNote(stored.push.id, [.delivered], at: 9)
            let error = await withCheckedContinuation { continuation in
                store.remove(stored.place, device: device, note: note) { continuation.resume(returning: $0) }
            }
            if let error { throw error }
        }

        /// Returns whether the gateway that has the device keeps each alert of `topic`, according to the first store.
        func keepsEach(_ topic: String) async throws -> Bool {
            try await withCheckedThrowingContinuation { continuation in
                store.keepsEach(topic, of: device) { continuation.resume(with: $0) }
            }
        }

        /// Waits until the first store's server knows of the second store's subscription for the device.
        func secondAnswers() async throws {
            while try await !keepsEach("mail") { await Task.yield() }
        }

        func waiting() async throws -> [QueuedPush] {
            QueuedPush.inOrder(try await second.waiting(for: device))
        }

        /// Reads until the result is as expected, because the store does not await log writes and cleanup.
        func until<Value>(
            _ body: () async throws -> Value, _ isWanted: (Value) -> Bool
        ) async throws -> Value {
            while true {
                let value = try await body()
                if isWanted(value) { return value }
                await Task.yield()
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `R5: The latest push of a topic replaces the previous push, but not a held push`(
        kind: Kind
    ) async throws {
        let world = try await World(kind)
        _ = try await world.put(world.push(1))
        let held = try await world.put(world.push(2, isSilent: true), slot: .held, heldUntil: 99)
        let second = try await world.put(world.push(3))
        let other = try await world.put(world.push(4, topic: Self.news))
        #expect(try await world.waiting() == [held, second, other])
        #expect(held.sequence < second.sequence && second.sequence < other.sequence)
        // A silent push that passes the rate limit replaces the held push, but no alert.
        let passing = try await world.put(world.push(5, isSilent: true))
        _ = try await world.until(world.waiting) { $0 == [second, other, passing] }
    }

    @Test(arguments: Kind.allCases)
    func `R5: The store keeps alerts of a connected device in order, up to a limit`(
        kind: Kind
    ) async throws {
        let world = try await World(kind)
        let away = try await world.put(world.push(1))
        var alerts: [QueuedPush] = []
        for number in 2...300 as ClosedRange<UInt64> {
            let push = world.push(number)
            alerts.append(try await world.put(push, slot: push.slot(keepsEach: true)))
        }
        #expect(try await world.waiting() == [away] + alerts)
        // An alert that comes while the device is disconnected replaces only an alert of its own kind.
        let next = try await world.put(world.push(301))
        #expect(try await world.waiting() == alerts + [next])
        for alert in alerts { try await world.remove(alert) }
        #expect(try await world.waiting() == [next])
    }

    @Test(arguments: Kind.allCases)
    func `R5: An acknowledgement deletes its own push, but never a newer push`(kind: Kind) async throws {
        let world = try await World(kind)
        let first = try await world.put(world.push(1))
        let second = try await world.put(world.push(2))
        try await world.remove(first)
        #expect(try await world.waiting() == [second])
        try await world.remove(second)
        #expect(try await world.waiting() == [])
        try await world.remove(second)
    }

    @Test(arguments: Kind.allCases)
    func `R5: An enrolment code works once before it expires, even on two gateways at once`(
        kind: Kind
    ) async throws {
        let world = try await World(kind)
        let key = [UInt8](repeating: 2, count: 32)
        let (store, second) = (world.store, world.second)
        for round in 0..<10 as Range<UInt8> {
            try await world.store.addEnrolment(hash: [2, round], name: "phone", expiresAt: 1_000, now: 5)
            async let one = store.enrol(
                DeviceID(high: 2, low: UInt64(round)), hash: [2, round], key: key.map { $0 &+ round }, name: nil, now: 6
            )
            async let other = second.enrol(
                DeviceID(high: 3, low: UInt64(round)), hash: [2, round], key: key.map { $0 &+ round &+ 100 }, name: "x",
                now: 6)
            let devices = try await [one, other].compactMap(\.self)
            #expect(devices.count == 1)
        }
        try await world.store.addEnrolment(hash: [3], name: "phone", expiresAt: 10, now: 5)
        let late = try await world.second.enrol(DeviceID(high: 4, low: 4), hash: [3], key: key, name: nil, now: 10)
        #expect(late == nil)
        #expect(try await world.second.devices(limit: 100).count == 11)
    }

    @Test(arguments: Kind.allCases)
    func `R5: A token stays the same until a new token is requested`(
        kind: Kind
    ) async throws {
        let world = try await World(kind)
        func register(_ fresh: String, wanted: Bool, limit: Int = 9, at: Int64 = 5) async throws -> [String?] {
            let answer = try await world.store.register(
                Self.mail, device: world.device, fresh: fresh, isFreshWanted: wanted, limit: limit, at: at)
            return [answer.token, answer.ended]
        }
        let first = "token-" + Self.mail
        #expect(try await register("b", wanted: false) == [first, nil])
        #expect(try await register("c", wanted: true) == ["c", first])
        #expect(try await world.second.token(first)?.endedBy == .replaced)
        #expect(try await world.second.token("c")?.endedAt == nil)
        #expect(try await world.second.token("b") == nil)
        // The store forgets a token that has eight newer ended tokens.
        for number in 0..<10 as Range<Int64> { _ = try await register("d\(number)", wanted: true, at: 6 + number) }
        #expect(try await world.second.token(first) == nil)
        #expect(try await world.second.token("d1")?.endedBy == .replaced)
        let stored = try await world.put(world.push(1))
        #expect(try await world.store.unregister(Self.mail, device: world.device, at: 29) == "d9")
        #expect(try await world.second.token("d9")?.endedBy == .unregistered)
        _ = try await world.until(world.waiting) { $0 == [] }
        func events() async throws -> [String] { try await world.second.log(of: stored.push.id).map(\.event) }
        _ = try await world.until(events) {
            $0 == ["received", "discarded-unregistered"]
        }
        await #expect(throws: StoreError.self) { try await register("e", wanted: false, limit: 1) }
        #expect(try await world.store.revokeDevice(world.device, at: 30) == ["token-" + Self.news])
        #expect(try await world.second.deviceConnects(world.device)?.revokedAt == 30)
        await #expect(throws: StoreError.self) { try await world.store.revokeDevice(DeviceID(high: 9, low: 9), at: 1) }
    }

    @Test(arguments: Kind.allCases)
    func `R5: An acknowledgement does not delete another app's push with the same id`(kind: Kind) async throws {
        let world = try await World(kind)
        let mail = try await world.put(world.push(1))
        let news = try await world.put(world.push(1, topic: Self.news))
        try await world.remove(mail)
        #expect(try await world.waiting() == [news])
    }

    @Test(arguments: Kind.allCases)
    func `R5: The store forgets the oldest ended tokens, which would otherwise block registrations`(
        kind: Kind
    ) async throws {
        let world = try await World(kind)
        for number in 0..<40 as Range<Int64> {
            let topic = "unifiedpush:" + String(repeating: "0", count: 30) + String(10 + number)
            _ = try await world.store.register(
                topic, device: world.device, fresh: "u\(number)", isFreshWanted: false, limit: 9, at: 10 + number)
            _ = try await world.store.unregister(topic, device: world.device, at: 10 + number)
        }
        let tokens = try await world.second.tokens(of: world.device)
        #expect(tokens.count { $0.endedAt == nil } == 2)
        #expect(Set(tokens.filter { $0.endedAt != nil }.map(\.token)) == Set((30..<40).map { "u\($0)" }))
        func token() async throws -> TokenRecord? { try await world.second.token("u29") }
        _ = try await world.until(token) { $0 == nil }
    }

    @Test(arguments: Kind.allCases)
    func `R5: A revoked device does not get a token, even if it requested one before`(kind: Kind) async throws {
        let world = try await World(kind)
        _ = try await world.store.revokeDevice(world.device, at: 30)
        for isFreshWanted in [false, true] {
            await #expect(throws: StoreError.self) {
                try await world.second.register(
                    Self.mail, device: world.device, fresh: "late", isFreshWanted: isFreshWanted, limit: 9, at: 31)
            }
        }
        #expect(try await world.second.tokens(of: world.device).allSatisfy { $0.endedAt != nil })
        func token() async throws -> TokenRecord? { try await world.second.token("late") }
        _ = try await world.until(token) { $0 == nil }
    }

    @Test(arguments: Kind.allCases)
    func `R5: Teams, keys and topics can be suspended or revoked, but not added twice`(kind: Kind) async throws {
        let world = try await World(kind)
        let key = KeyRecord(id: "KEY0000001", team: Self.team, environment: .any, publicKey: "PEM", createdAt: 1)
        try await world.store.addKey(key)
        await #expect(throws: StoreError.self) { try await world.store.addKey(key) }
        await #expect(throws: StoreError.self) { try await world.store.addTeam(Self.team, name: "again", at: 2) }
        let stray = TopicRecord("org.example.Stray", team: "TEAM000009", at: 1)
        await #expect(throws: StoreError.self) { try await world.store.addTopic(stray) }
        try await world.store.suspendTeam(Self.team, at: 5)
        try await world.store.revokeKey(key.id, at: 6)
        try await world.store.revokeKey(key.id, at: 7)
        var records = try await world.second.providers()
        #expect(records.teams.map(\.suspendedAt) == [5] && records.keys.map(\.revokedAt) == [6])
        #expect(records.topics.map(\.name) == [Self.mail, Self.news])
        try await world.store.suspendTeam(Self.team, at: nil)
        records = try await world.second.providers()
        #expect(records.teams.map(\.suspendedAt) == [nil])
        await #expect(throws: StoreError.self) { try await world.store.suspendTeam("TEAM000009", at: 1) }
        await #expect(throws: StoreError.self) { try await world.store.revokeKey("KEY0000009", at: 1) }
    }

    @Test(arguments: Kind.allCases)
    func `B6: The log returns the events of a push`(kind: Kind) async throws {
        let world = try await World(kind)
        let stored = try await world.put(world.push(1))
        try await world.remove(stored)
        func story() async throws -> [LogEntry] { try await world.second.log(of: stored.push.id) }
        let entries = try await world.until(story) { $0.count == 2 }
        #expect(entries.map(\.event) == ["received", "delivered"])
        #expect(entries[0].device == world.device && entries[0].topic == Self.mail)
        #expect(entries[0].payload == stored.push.payload)
        let last = try await world.second.lastLogEntry()
        #expect(try await world.second.log(after: last, limit: 10).isEmpty)
        #expect(try await world.second.log(after: 0, limit: 10).map(\.event) == ["received", "delivered"])
        #expect(try await world.second.counts().tokens == 2)
        #expect(try await world.second.check() == nil || kind == .cluster)
    }
}
