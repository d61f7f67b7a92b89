import Foundation
import PushCluster
import PushProtocol
import PushRouting
import PushStore
import Synchronization
import Testing

/// Tests of the guarantees for several gateways with one store.
@Suite(.serialized, .timeLimit(.minutes(20))) struct NATSStoreTests {
    /// A listener that records its reports.
    final class Ear: StoreListener {
        struct Heard {
            var stored: [QueuedPush] = []
            var superseded: [UInt64] = []
            var changed: [DeviceID: Bool] = [:]
            var hasNewProviders = false
        }

        let heard = Mutex(Heard())
        let answer: DeliveryEvent.Discard?

        init(answer: DeliveryEvent.Discard?) {
            self.answer = answer
        }

        func arrived(_ stored: QueuedPush) { heard.withLock { $0.stored.append(stored) } }
        func offered(_ push: Push) -> DeliveryEvent.Discard? { answer }
        func keepsEach(_ topic: String, of device: DeviceID) -> Bool { topic == "mail" }
        func superseded(_ device: DeviceID, connection: UInt64, _ refusal: Refusal) {
            heard.withLock { $0.superseded.append(connection) }
        }
        func mayHaveMissed() {}
        func providersChanged() { heard.withLock { $0.hasNewProviders = true } }
        func changed(_ device: DeviceID, tokens: [String], isRevoked: Bool) {
            heard.withLock { $0.changed[device] = isRevoked }
        }
        func logGrew() {}

        func until(_ isWanted: (borrowing Heard) -> Bool) async {
            while !heard.withLock({ isWanted($0) }) { await Task.yield() }
        }
    }

    static func world() async throws -> (StoreContractTests.World, Ear, Ear) {
        let world = try await StoreContractTests.World(.cluster)
        let (first, second) = (Ear(answer: nil), Ear(answer: .power))
        world.store.listen(first)
        world.second.listen(second)
        return (world, first, second)
    }

    @Test func `R5: The store reports a new push, and earlier pushes, to the device's gateway`()
        async throws
    {
        let (world, first, second) = try await Self.world()
        let before = try await world.put(world.push(1))
        world.second.attach(world.device, connection: 7, at: 1)
        try await world.secondAnswers()
        #expect(try await world.waiting() == [before])
        let behind = try await world.put(world.push(2))
        await second.until { $0.stored.contains(behind) }
        #expect(first.heard.withLock { $0.stored } == [])
    }

    @Test func `R5, B7: The store reports a new message to the device's gateway, and logs the outcome`()
        async throws
    {
        let world = try await KeptMessagesTests.World(.cluster, registrations: 1)
        let ear = Ear(answer: nil)
        world.base.second.listen(ear)
        world.base.second.attach(world.base.device, connection: 7, at: 1)
        try await world.base.secondAnswers()
        let before = try await world.base.waiting()
        let (first, second) = (try await world.put(1), try await world.put(2, named: "n"))
        await ear.until { $0.stored == [first, second] }
        #expect(before == [])
        try await world.story(of: second, is: ["received", "stored-offline"])
        let third = try await world.put(3, named: "n")
        try await world.story(of: second, is: ["received", "discarded-replaced"])
        try await world.story(of: third, is: ["received", "stored-offline"])
    }

    @Test func `R5: Only the later of two connections of a device stays, whatever their gateways`() async throws {
        let (world, first, second) = try await Self.world()
        world.store.attach(world.device, connection: 1, at: 1)
        // The first connection is recorded before the second, so that requests of the first one are answered.
        while try await world.store.device(world.device)?.seenAt == nil { await Task.yield() }
        world.second.attach(world.device, connection: 2, at: 1)
        await first.until { $0.superseded == [1] }
        #expect(second.heard.withLock { $0.superseded } == [])
        world.store.detach(world.device, connection: 1)
        // Both connections are made at once, and one of them stays.
        world.store.attach(world.device, connection: 3, at: 1)
        world.second.attach(world.device, connection: 4, at: 1)
        while first.heard.withLock({ $0.superseded.count }) + second.heard.withLock({ $0.superseded.count }) < 2 {
            await Task.yield()
        }
        let over = first.heard.withLock { $0.superseded } + second.heard.withLock { $0.superseded }
        #expect(over.count == 2 && Set(over).isSubset(of: [1, 2, 3, 4]) && !(over.contains(3) && over.contains(4)))
    }

    @Test func `R5: A push with one attempt is refused if no gateway has the device`() async throws {
        let (world, _, _) = try await Self.world()
        let once = world.push(1, lifetime: .once)
        func offer() async throws -> DeliveryEvent.Discard? {
            try await withCheckedThrowingContinuation { continuation in
                world.store.offer(once) { continuation.resume(with: $0) }
            }
        }
        #expect(try await offer() == .notConnected)
        world.second.attach(world.device, connection: 7, at: 1)
        // The other server may not know the subscription yet.
        while try await offer() == .notConnected { await Task.yield() }
        #expect(try await offer() == .power)
    }

    @Test func `R5: The gateway of the device decides whether an alert is kept`()
        async throws
    {
        let (world, _, _) = try await Self.world()
        #expect(try await !world.keepsEach("mail"))
        world.second.attach(world.device, connection: 7, at: 1)
        try await world.secondAnswers()
        #expect(try await !world.keepsEach("paused"))
    }

    @Test func `R5: A gateway stops answering for a device that has a newer connection elsewhere`() async throws {
        let (world, first, _) = try await Self.world()
        world.store.attach(world.device, connection: 1, at: 1)
        while try await world.store.device(world.device)?.seenAt == nil { await Task.yield() }
        world.second.attach(world.device, connection: 2, at: 1)
        await first.until { $0.superseded == [1] }
        // The older connection is still open when the newer one ends.
        world.second.detach(world.device, connection: 2)
        // A request in flight while the gateway unsubscribes gets no answer. The gateway that sent the request then
        // assumes yes.
        func keeps() async -> Bool { (try? await world.keepsEach("mail")) ?? true }
        let end = ContinuousClock.now + .seconds(60)
        while await keeps(), .now < end { await Task.yield() }
        #expect(try await !world.keepsEach("mail"))
    }

    @Test func `R4, R5: Concurrent gateways together keep to the rate limit of silent pushes`() async throws {
        let (world, _, _) = try await Self.world()
        let settings = TokenBucket.Settings(capacity: 3, interval: 100)
        let stores = [world.store, world.second]
        let device = world.device
        for round in 0..<20 {
            var tasks: [Task<Bool, any Error>] = []
            for number in 0..<10 {
                let store = stores[number % 2]
                tasks.append(
                    Task {
                        try await withCheckedThrowingContinuation { continuation in
                            store.takeSilent("t\(round)", device: device, settings, wallSeconds: 1_000) {
                                continuation.resume(with: $0)
                            }
                        } == .passes
                    })
            }
            var passed = 0
            for task in tasks where try await task.value { passed += 1 }
            #expect(passed == 3, "round \(round)")
        }
        let verdict: TokenBucket.Verdict = try await withCheckedThrowingContinuation { continuation in
            world.store.takeSilent("t0", device: device, settings, wallSeconds: 1_050) { continuation.resume(with: $0) }
        }
        guard case .waits(let wait) = verdict else { return #expect(Bool(false), "It passes.") }
        #expect(abs(wait - 50) < 0.01)
    }

    @Test func `R5: An operator's change at one gateway is visible at the other gateway`() async throws {
        let (world, _, second) = try await Self.world()
        try await world.store.suspendTeam(StoreContractTests.team, at: 9)
        await second.until { $0.hasNewProviders }
        #expect(try await world.second.providers().teams[0].suspendedAt == 9)
        _ = try await world.store.revokeDevice(world.device, at: 9)
        await second.until { $0.changed.values.contains(true) }
    }

    @Test func `R5: A gateway that missed a change reads that change after the next report`() async throws {
        let world = try await StoreContractTests.World(.nats)
        let (store, second) = (world.store, world.second)
        try await second.catchUp()
        // No listener is set yet, so neither change is reported.
        try await store.suspendTeam(StoreContractTests.team, at: 9)
        _ = try await store.revokeDevice(world.device, at: 9)
        let ear = Ear(answer: nil)
        second.listen(ear)
        try await second.settle()
        let other = DeviceID(high: 1, low: 2)
        try await store.addEnrolment(hash: [2], name: "desk", expiresAt: 1_000, now: 1)
        _ = try await store.enrol(other, hash: [2], key: [UInt8](repeating: 2, count: 32), name: nil, now: 2)
        await ear.until { $0.changed[other] == false }
        let missed = ear.heard.withLock { $0.changed[world.device] == nil && !$0.hasNewProviders }
        #expect(missed)
        try await second.catchUp()
        let read = ear.heard.withLock { $0.changed[world.device] == true && $0.hasNewProviders }
        #expect(read)
        // A gateway does not read known changes again.
        ear.heard.withLock { heard in
            heard.changed = [:]
            heard.hasNewProviders = false
        }
        try await second.catchUp()
        let again = ear.heard.withLock { !$0.changed.isEmpty || $0.hasNewProviders }
        #expect(!again)
    }

    @Test func `R5: A store refuses settings with more replicas than servers, or another stream count`()
        async throws
    {
        let servers = try NATSServers(1)
        _ = try await servers.store(replicas: 1)
        await #expect(throws: StoreError.self) {
            try await NATSStore(NATSSettings(servers: servers.urls, replicas: 3, streams: 2))
        }
        await #expect(throws: StoreError.self) {
            try await NATSStore(NATSSettings(servers: servers.urls, replicas: 1, streams: 3))
        }
    }

    /// The results of many calls.
    final class Tally: Sendable {
        let answers = Mutex(0)
        let isThrough = Mutex(false)

        func until(_ isWanted: () -> Bool) async -> Bool {
            let end = ContinuousClock.now + .seconds(60)
            while !isWanted(), ContinuousClock.now < end { await Task.yield() }
            return isWanted()
        }
    }

    static func push(_ number: UInt64) -> Push {
        Push(
            id: PushID(high: 7, low: number), device: DeviceID(high: 1, low: 1), topic: "t\(number)", receivedAt: 1,
            lifetime: .until(5_000), priority: .immediate, type: .alert, collapseID: nil, isSilent: false,
            payload: [UInt8](repeating: 0x20, count: 4_096))
    }

    @Test func `R5: A stalled NATS server does not block callers, because another server takes over`() async throws {
        let servers = try NATSServers(3)
        defer { withExtendedLifetime(servers) {} }
        // This call waits until all servers are ready.
        _ = try await servers.store(replicas: 3)
        let store = try await NATSStore(NATSSettings(servers: [servers.urls[0]], replicas: 3, streams: 2))
        servers.stall(0)
        let count = 5_000
        let tally = Tally()
        // The thread sends more than the socket buffers hold, so that a caller that waited for the server would block
        // here.
        Thread.detachNewThread {
            for number in 0..<UInt64(count) {
                let push = Self.push(number)
                store.store(push, slot: .latest, heldUntil: nil, note: LogNote(push.id, [], at: 1)) { _ in
                    tally.answers.withLock { $0 += 1 }
                }
            }
            tally.isThrough.withLock { $0 = true }
        }
        let isThrough = await tally.until { tally.isThrough.withLock { $0 } }
        try #require(isThrough)
        let isAnswered = await tally.until { tally.answers.withLock { $0 } == count }
        #expect(isAnswered)
        let isStored = await Self.isStored(Self.push(0), in: store)
        #expect(isStored)
    }

    /// Returns whether a push is stored within two minutes.
    private static func isStored(_ push: Push, in store: NATSStore) async -> Bool {
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            if (try? await StoreContractTests.put(push, in: store)) != nil { return true }
        }
        return false
    }

    @Test(arguments: [
        ("org.example.Mail", "org=2eexample=2eMail"), ("a>b*c d", "a=3eb=2ac=20d"), ("=2e", "=3d2e"), ("", "="),
        ("ü", "=c3=bc"),
    ])
    func `R5: The name of a topic always becomes one token of a NATS subject`(topic: String, token: String) {
        #expect(NATSStore.token(topic) == token)
    }
}
