import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests that only requests of the owner write the columns for the owner's settings of a task.
@Suite struct OwnershipTests {
    @Test func `An update from an older copy of the row keeps a later request`() async throws {
        let store = try await StoreFixture.inMemory()
        let old = try await store.write { try $0.insert(.waiting()) }
        try await store.write { transaction in
            var record = try #require(try transaction.task(old.id))
            record.priority = 1
            record.request.rateLimit = 5_000
            record.request.description = "mine"
            record.clientData = "note"
            try transaction.putWishes(record)
        }
        // The service continues with an older copy of the row.
        var stale = old
        stale.received = 77
        stale.attempts = 3
        stale.state = .finishing
        try await store.write { [stale] in try $0.update(stale) }
        let record = try #require(try await store.read { try $0.task(old.id) })
        #expect(record.received == 77 && record.attempts == 3 && record.state == .finishing)
        #expect(record.priority == 1)
        #expect(record.request.rateLimit == 5_000)
        #expect(record.request.description == "mine")
        #expect(record.clientData == "note")
    }

    @Test func `A request keeps a later update by the service`() async throws {
        let store = try await StoreFixture.inMemory()
        let old = try await store.write { try $0.insert(.waiting()) }
        try await store.write { transaction in
            var record = old
            record.received = 99
            record.state = .suspended
            try transaction.update(record)
        }
        try await store.write { transaction in
            var stale = old
            stale.priority = 0
            try transaction.putWishes(stale)
        }
        let record = try #require(try await store.read { try $0.task(old.id) })
        #expect(record.priority == 0 && record.received == 99 && record.state == .suspended)
    }
}
