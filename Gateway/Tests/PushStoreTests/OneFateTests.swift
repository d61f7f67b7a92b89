import PushProtocol
import PushRouting
import PushStore
import Testing

@Suite(.serialized, .timeLimit(.minutes(20))) struct OneFateTests {
    static let other = PushID(high: 9, low: 9)

    /// The events that are logged for a push in this order, and the entries that the log then returns.
    static let stories: [(written: [DeliveryEvent], told: [String])] = [
        ([.delivered, .discarded(.replaced(by: other))], ["delivered"]),
        ([.discarded(.expired), .delivered], ["delivered"]),
        (
            [.discarded(.replaced(by: other)), .rodeAlong(.connect), .deliveredFromStorage],
            ["rode-along", "delivered-from-storage"]
        ),
        ([.discarded(.expired), .discarded(.unregistered)], ["discarded-expired"]),
        ([.delivered, .delivered], ["delivered"]),
        ([.storedOffline, .storedPower, .delivered], ["stored-offline", "stored-power", "delivered"]),
    ]

    @Test(arguments: [StoreContractTests.Kind.sqlite, .nats], stories.indices)
    func `B6: The log has one outcome of a push, and a delivery takes precedence`(
        kind: StoreContractTests.Kind, story: Int
    ) async throws {
        let world = try await StoreContractTests.World(kind)
        let (written, told) = Self.stories[story]
        let push = world.push(1)
        func write(_ note: LogNote) async throws {
            let error = await withCheckedContinuation { continuation in
                world.store.write(note) { continuation.resume(returning: $0) }
            }
            if let error { throw error }
        }
        func events() async throws -> [String] { try await world.store.log(of: push.id).map(\.event) }
        try await write(LogNote(received: push, withPayload: false, [], at: 1))
        for event in written { try await write(LogNote(push.id, [event], at: 2)) }
        // The marker is written last, because writes to the log of a shared store are not awaited.
        try await write(LogNote(push.id, [.storedOpportunistic], at: 3))
        let first = try await world.until(events) { $0.last == "stored-opportunistic" }
        #expect(first == ["received"] + told + ["stored-opportunistic"])
        // The provider sends the push again. The second push has its own outcome.
        try await write(LogNote(received: push, withPayload: false, [.discarded(.expired)], at: 4))
        let second = try await world.until(events) { $0.last == "discarded-expired" }
        #expect(second == first + ["received", "discarded-expired"])
    }

    @Test(arguments: [StoreContractTests.Kind.sqlite, .nats])
    func `B6: The log of an id has the entries of both devices that the id was sent to`(
        kind: StoreContractTests.Kind
    ) async throws {
        let world = try await StoreContractTests.World(kind)
        let push = world.push(1)
        var other = push
        other.device = DeviceID(high: 5, low: 5)
        let notes = [
            LogNote(received: push, withPayload: false, [], at: 1),
            LogNote(received: other, withPayload: false, [], at: 1),
            LogNote(push.id, [.delivered], at: 2), LogNote(push.id, [.discarded(.expired)], at: 3),
        ]
        for note in notes {
            await withCheckedContinuation { continuation in
                world.store.write(note) { _ in continuation.resume() }
            }
        }
        let told = try await world.until {
            try await world.store.log(of: push.id).map(\.event)
        } _: {
            $0.last == "discarded-expired"
        }
        #expect(told == ["received", "received", "delivered", "discarded-expired"])
    }
}
