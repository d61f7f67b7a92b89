import Foundation
import PushProtocol
import PushRouting
import PushStore
import Testing

@Suite struct PushStoreTests {
    static let device = DeviceID(high: 1, low: 1)

    static func store() async throws -> PushStore {
        let store = try PushStore(inMemory: ())
        try await fill(store)
        return store
    }

    static func fill(_ store: PushStore) async throws {
        _ = try await store.write { transaction in
            try transaction.addTeam("TEAM000001", name: "Example", at: 1)
            try transaction.addTopic(TopicRecord("org.example.Mail", team: "TEAM000001", at: 1))
            try transaction.addEnrolment(hash: [1], name: "laptop", expiresAt: 1_000, now: 1)
            return try transaction.enrol(
                device, hash: [1], key: [UInt8](repeating: 1, count: 32), name: nil, now: 2)
        }
    }

    static func push(
        _ number: UInt64, topic: String = "org.example.Mail", expiry: Int64 = 1_000, isSilent: Bool = false
    ) -> Push {
        Push(
            id: PushID(high: 0, low: number), device: device, topic: topic, receivedAt: Int64(number),
            lifetime: .until(expiry), priority: .immediate, type: .alert, collapseID: "c", isSilent: isSilent,
            payload: Array("{}".utf8))
    }

    @Test func `R5: The latest push of a topic replaces the previous push, but not a held push`()
        async throws
    {
        let store = try await Self.store()
        let replaced = try await store.write { transaction in
            let first = try transaction.store(Self.push(1), slot: .latest, heldUntil: nil)
            let held = try transaction.store(Self.push(2, isSilent: true), slot: .held, heldUntil: 99)
            let second = try transaction.store(Self.push(3), slot: .latest, heldUntil: nil)
            let other = try transaction.store(Self.push(4, topic: "other"), slot: .latest, heldUntil: nil)
            return [first.replaced, held.replaced, second.replaced, other.replaced]
        }
        #expect(replaced == [[], [], [Self.push(1).id], []])
        let rows = try await store.write { try $0.waiting(for: Self.device) }
        #expect(rows.map(\.push) == [Self.push(2, isSilent: true), Self.push(3), Self.push(4, topic: "other")])
        #expect(rows.map(\.heldUntil) == [99, nil, nil])
        // A silent push that passes the rate limit also replaces the held push.
        let both = try await store.write {
            let first = try $0.store(Self.push(5, isSilent: true), slot: .silent, heldUntil: nil).replaced
            return try first + $0.store(Self.push(6, isSilent: true), slot: .silent, heldUntil: nil).replaced
        }
        #expect(both == [Self.push(2).id, Self.push(5).id])
    }

    @Test func `R5: The removal of a push does not remove a newer push in the same slot`() async throws {
        let store = try await Self.store()
        try await store.write { transaction in
            let first = try transaction.store(Self.push(1), slot: .latest, heldUntil: nil)
            _ = try transaction.store(Self.push(2), slot: .latest, heldUntil: nil)
            try transaction.remove(first.stored.place, device: Self.device)
        }
        #expect(try await store.write { try $0.waiting(for: Self.device).map(\.push.id) } == [Self.push(2).id])
        let late = RouteTime(bootSeconds: 0, wallMilliseconds: 1_000_000)
        #expect(try await store.write { try $0.removeExpired(now: late, limit: 10) } == [Self.push(2).id])
        #expect(try await store.write { try $0.counts().stored } == 0)
    }

    @Test func `R5: An enrolment code works once, and only before its expiry`() async throws {
        let store = try await Self.store()
        let key = [UInt8](repeating: 2, count: 32)
        let again = try await store.write {
            try $0.enrol(DeviceID(high: 2, low: 2), hash: [1], key: key, name: "x", now: 3)
        }
        #expect(again == nil)
        let late = try await store.write { transaction in
            try transaction.addEnrolment(hash: [2], name: "phone", expiresAt: 10, now: 5)
            return try transaction.enrol(DeviceID(high: 2, low: 2), hash: [2], key: key, name: "x", now: 10)
        }
        #expect(late == nil)
    }

    @Test func `R5: A token stays the same until a new token is requested`() async throws {
        let store = try await Self.store()
        @Sendable func register(_ fresh: String, wanted: Bool) async throws -> [String?] {
            try await store.write { transaction in
                let answer = try transaction.register(
                    "org.example.Mail", device: Self.device, fresh: fresh, isFreshWanted: wanted, limit: 2, at: 5)
                return [answer.token, answer.ended]
            }
        }
        #expect(try await register("a", wanted: false) == ["a", nil])
        #expect(try await register("b", wanted: false) == ["a", nil])
        #expect(try await register("c", wanted: true) == ["c", "a"])
        let tokens = try await store.write { try [$0.token("a"), $0.token("c")] }
        #expect(tokens.map { $0?.endedBy } == [.replaced, nil])
        let ended = try await store.write { transaction in
            _ = try transaction.store(Self.push(1), slot: .latest, heldUntil: nil)
            return try transaction.unregister("org.example.Mail", device: Self.device, at: 9)
        }
        #expect(ended.token == "c" && ended.pushes == [Self.push(1).id])
        #expect(try await store.write { try $0.token("c")?.endedBy } == .unregistered)
    }

    @Test func `R5: The store limits the number of a device's tokens`() async throws {
        let store = try await Self.store()
        await #expect(throws: StoreError.self) {
            try await store.write {
                try $0.register(
                    "org.example.Mail", device: Self.device, fresh: "a", isFreshWanted: false, limit: 0, at: 5)
            }
        }
    }

    @Test func `B6: The log returns the events of a push, and forgets the oldest events`() async throws {
        let store = try await Self.store()
        let id = Self.push(1).id
        try await store.write { transaction in
            try transaction.logReceived(Self.push(1), withPayload: false)
            try transaction.log(id, .held(until: 77), at: 2)
            try transaction.log(id, .rodeAlong(.keepAlive), at: 3)
            try transaction.log(id, .deliveredFromStorage, at: 3)
        }
        let entries = try await store.read { try $0.log(of: id) }
        #expect(entries.map(\.event) == ["received", "held", "rode-along", "delivered-from-storage"])
        #expect(entries.map(\.detail) == [nil, "77", "keep-alive", nil])
        #expect(entries[0].device == Self.device && entries[0].payload == nil)
        try await store.write { try $0.pruneLog(to: 1) }
        #expect(try await store.read { try $0.log(of: id).map(\.event) } == ["delivered-from-storage"])
    }

    @Test func `R5: A failed operation undoes only its own changes`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "push-store-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "gateway.sqlite").path
        let store = try PushStore(path: path)
        try await Self.fill(store)
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 as Range<UInt64> {
                group.addTask {
                    do {
                        try await store.write { transaction in
                            _ = try transaction.store(
                                Self.push(number, topic: "t\(number)"), slot: .latest, heldUntil: nil)
                            if number % 10 == 0 { throw StoreError(.other, "no") }
                        }
                        return true
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(outcomes == 180)
        // A second connection sees the content of the file, as another process would.
        let other = try PushStore(path: path)
        #expect(try await other.read { try $0.waiting(for: Self.device).count } == 180)
        #expect(try await other.check() == nil)
    }

    @Test func `R5, B7: The store keeps messages up to the limits of registration and device`() async throws {
        let store = try await Self.store()
        let topics = (0..<12).map { "unifiedpush:" + String(repeating: "0", count: 30) + String(10 + $0) }
        func message(_ number: UInt64, _ topic: String, size: Int = 1, named: String? = nil) -> Push {
            Push(
                id: PushID(high: 7, low: number), device: Self.device, topic: topic, receivedAt: Int64(number),
                lifetime: .until(1_000), priority: .considerate, type: .unifiedpush, collapseID: named, isSilent: false,
                payload: [UInt8](repeating: 1, count: size))
        }
        func put(_ push: Push) async throws -> (replaced: [PushID], evicted: [PushID]) {
            try await store.write { transaction in
                let outcome = try transaction.store(push, slot: push.slot(keepsEach: false), heldUntil: nil)
                return (outcome.replaced, outcome.evicted)
            }
        }
        for number in 0..<UInt64(KeptMessages.count) {
            let outcome = try await put(message(number, topics[0]))
            #expect(outcome.replaced == [] && outcome.evicted == [])
        }
        let first = try await put(message(1_000, topics[0], named: "n"))
        #expect(first.replaced == [] && first.evicted == [message(0, topics[0]).id])
        let again = try await put(message(1_001, topics[0], named: "n"))
        #expect(again.replaced == [message(1_000, topics[0]).id] && again.evicted == [])
        // This part of the test checks the limit of the size.
        let size = 4_096
        for number in 2_000..<UInt64(2_000 + KeptMessages.bytes / size) {
            _ = try await put(message(number, topics[1], size: size))
        }
        #expect(try await put(message(3_000, topics[1])).evicted == [message(2_000, topics[1]).id])
        // This part of the test checks the limit of the device.
        var evicted: [PushID] = []
        for topic in topics[2...] {
            for number in 0..<UInt64(KeptMessages.count) {
                evicted += try await put(message(UInt64(topic.hashValue & 0xFFFF) << 20 | number, topic)).evicted
            }
        }
        let rows = try await store.write { try $0.waiting(for: Self.device) }
        #expect(rows.count == KeptMessages.countOfDevice && evicted.count == 200)
        #expect(evicted.first == message(1, topics[0]).id)
        // An app's push does not count towards the limit.
        _ = try await store.write { try $0.store(Self.push(9_999), slot: .latest, heldUntil: nil) }
        #expect(try await store.write { try $0.waiting(for: Self.device).count } == KeptMessages.countOfDevice + 1)
    }

    @Test func `R5, B7: A registration for UnifiedPush does not need a team`() async throws {
        let store = try await Self.store()
        let topic = "unifiedpush:" + String(repeating: "0", count: 32)
        let token = try await store.write {
            try $0.register(topic, device: Self.device, fresh: "f", isFreshWanted: false, limit: 5, at: 1).token
        }
        #expect(token == "f")
        #expect(try await store.read { try $0.token("f")?.topic } == topic)
    }
}
