import PushProtocol
import PushRouting
import PushStore
import Testing

/// Tests of messages of UnifiedPush with each kind of store.
@Suite(.serialized, .timeLimit(.minutes(20))) struct KeptMessagesTests {
    typealias Kind = StoreContractTests.Kind

    struct World {
        var base: StoreContractTests.World

        init(_ kind: Kind, registrations: Int) async throws {
            base = try await StoreContractTests.World(kind)
            for number in 0..<registrations {
                let answer = try await base.store.register(
                    Self.topic(number), device: base.device, fresh: "up\(number)", isFreshWanted: false, limit: 50,
                    at: 4)
                #expect(answer.token == "up\(number)")
            }
        }

        static func topic(_ number: Int) -> String {
            let digits = String(number, radix: 16)
            return UnifiedPushTopic.prefix + String(repeating: "0", count: 32 - digits.count) + digits
        }

        func message(_ number: UInt64, _ registration: Int = 0, named: String? = nil) -> Push {
            Push(
                id: PushID(high: UInt64(registration) + 1, low: number), device: base.device,
                topic: Self.topic(registration), receivedAt: Int64(number), lifetime: .until(5_000),
                priority: .considerate, type: .unifiedpush, collapseID: named, isSilent: false, payload: [0, 10, 255])
        }

        func put(_ number: UInt64, _ registration: Int = 0, named: String? = nil) async throws -> QueuedPush {
            try await base.put(message(number, registration, named: named))
        }

        func withdraw(_ stored: QueuedPush, topic: String) async throws -> Bool {
            try await withCheckedThrowingContinuation { continuation in
                base.store.withdraw(stored.push.id, topic: topic, device: base.device, at: 9) {
                    continuation.resume(with: $0)
                }
            }
        }

        /// Waits until the log has these entries for the push.
        func story(of stored: QueuedPush, is words: [String]) async throws {
            func events() async throws -> [String] { try await base.second.log(of: stored.push.id).map(\.event) }
            _ = try await base.until(events) { $0 == words }
        }
    }

    @Test(arguments: Kind.allCases)
    func `R5, B7: A message replaces only a waiting message of the same topic`(
        kind: Kind
    ) async throws {
        let world = try await World(kind, registrations: 2)
        let mail = try await world.base.put(world.base.push(1))
        let first = try await world.put(1)
        let named = try await world.put(2, named: "a-b_C")
        let other = try await world.put(3, 1, named: "a-b_C")
        let last = try await world.put(4)
        #expect(try await Set(world.base.waiting()) == [mail, first, named, other, last])
        let newer = try await world.put(5, named: "a-b_C")
        func own() async throws -> [QueuedPush] {
            try await world.base.waiting().filter { $0.push.topic == World.topic(0) }
        }
        #expect(try await own() == [first, last, newer])
        #expect(Set(try await world.base.waiting()) == [mail, other, first, last, newer])
        try await world.base.remove(first)
        #expect(try await own() == [last, newer])
        // The replacement remains when the old message is acknowledged.
        try await world.base.remove(named)
        #expect(try await own() == [last, newer])
        #expect(try await world.base.second.counts().stored == 4)
    }

    @Test(arguments: Kind.allCases)
    func `R5, B7: A message is deleted once, and the end of a registration deletes all its messages`(
        kind: Kind
    ) async throws {
        let world = try await World(kind, registrations: 2)
        let (first, second, other) = (try await world.put(1), try await world.put(2), try await world.put(3, 1))
        #expect(try await !world.withdraw(first, topic: World.topic(1)))
        #expect(try await world.withdraw(first, topic: World.topic(0)))
        #expect(try await !world.withdraw(first, topic: World.topic(0)))
        #expect(Set(try await world.base.waiting()) == [second, other])
        try await world.story(of: first, is: ["received", "discarded-withdrawn"])
        #expect(try await world.base.store.unregister(World.topic(0), device: world.base.device, at: 9) == "up0")
        _ = try await world.base.until(world.base.waiting) { $0 == [other] }
        try await world.story(of: second, is: ["received", "discarded-unregistered"])
        _ = try await world.base.store.revokeDevice(world.base.device, at: 10)
        func stored() async throws -> Int { try await world.base.second.counts().stored }
        _ = try await world.base.until(stored) { $0 == 0 }
    }

    @Test(arguments: Kind.allCases)
    func `R5, B7: A registration keeps its newest messages, and a topic evicts only its own message`(
        kind: Kind
    ) async throws {
        let world = try await World(kind, registrations: 1)
        var stored: [QueuedPush] = []
        for number in 0..<UInt64(KeptMessages.count) + 10 { stored.append(try await world.put(number)) }
        let kept = Array(stored.suffix(KeptMessages.count))
        #expect(try await world.base.waiting() == kept)
        func count() async throws -> Int { try await world.base.second.counts().stored }
        _ = try await world.base.until(count) { $0 == KeptMessages.count }
        // The test replaces the push in one slot again and again.
        var named: [QueuedPush] = []
        for number in 0..<20 as Range<UInt64> {
            named.append(try await world.put(1_000 + number, named: "n"))
            _ = try await world.base.until(count) { $0 <= KeptMessages.count }
        }
        #expect(try await world.base.waiting() == kept.dropFirst() + named.suffix(1))
    }

    @Test(arguments: Kind.allCases)
    func `R5, B7: A device keeps its newest messages across all its registrations`(kind: Kind) async throws {
        let registrations = KeptMessages.countOfDevice / KeptMessages.count + 1
        let world = try await World(kind, registrations: registrations)
        let store = world.base.store
        let stored = try await withThrowingTaskGroup(of: [QueuedPush].self) { group in
            for registration in 0..<registrations {
                let messages = (0..<UInt64(KeptMessages.count)).map { world.message($0, registration) }
                group.addTask {
                    var stored: [QueuedPush] = []
                    for message in messages { stored.append(try await StoreContractTests.put(message, in: store)) }
                    return stored
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let newest = stored.sorted { $0.sequence < $1.sequence }.suffix(KeptMessages.countOfDevice)
        #expect(try await world.base.waiting() == Array(newest))
        func count() async throws -> Int { try await world.base.second.counts().stored }
        _ = try await world.base.until(count) { $0 == KeptMessages.countOfDevice }
    }
}
