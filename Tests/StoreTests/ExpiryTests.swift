import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests that ended tasks are deleted after observed time, whatever the wall clock says.
@Suite struct ExpiryTests {
    private static let month: Double = 30 * 86_400

    private func ended(_ store: Store, at now: ClockReading) async throws {
        try await store.write { transaction in
            try transaction.putSession(.terminal, SessionSettings())
            var record = try transaction.insert(.waiting())
            record.state = .completed
            record.endedAt = now.wallSeconds
            record.endedBoot = now.bootSeconds
            try transaction.update(record)
            try transaction.putClock(now)
        }
    }

    private func forgettable(_ store: Store, at now: ClockReading) async throws -> Int {
        try await store.read { try $0.forgettableTasks(endedFor: Self.month, now: now, limit: 10) }.count
    }

    @Test(arguments: ["boot-1", "boot-2"])
    func `A clock that is forty days ahead does not allow the deletion of ended tasks`(
        bootID: String
    ) async throws {
        let fixture = try StoreFixture()
        var now = StoreFixture.now
        let store = try fixture.open(now)
        try await ended(store, at: now)
        try store.close()
        now.bootID = bootID
        now.bootSeconds = bootID == "boot-1" ? now.bootSeconds + 60 : 20
        now.wallSeconds += 40 * 86_400
        let again = try fixture.open(now)
        #expect(try await forgettable(again, at: now) == 0)
        try again.close()
    }

    @Test func `An ended task can be deleted after an observed month`() async throws {
        let fixture = try StoreFixture()
        var now = StoreFixture.now
        let store = try fixture.open(now)
        try await ended(store, at: now)
        now.bootSeconds += Self.month - 1
        // The wall clock is set back in the meantime.
        now.wallSeconds -= 86_400
        #expect(try await forgettable(store, at: now) == 0)
        now.bootSeconds += 1
        #expect(try await forgettable(store, at: now) == 1)
        try store.close()
    }

    @Test func `The age of an ended task adds up over boots, without the time between the boots`() async throws {
        let fixture = try StoreFixture()
        var now = StoreFixture.now
        let store = try fixture.open(now)
        try await ended(store, at: now)
        try store.close()
        // The machine is on for ten observed days at a time, and then off for a year.
        for boot in 2...4 {
            now.bootSeconds += 10 * 86_400
            let open = try fixture.open(now)
            #expect(try await forgettable(open, at: now) == (boot == 4 ? 1 : 0), "\(boot)")
            try open.close()
            now = ClockReading(bootID: "boot-\(boot)", bootSeconds: 0, wallSeconds: now.wallSeconds + 365 * 86_400)
        }
    }

    @Test func `A retried task can be deleted only after its new end`() async throws {
        let fixture = try StoreFixture()
        var now = StoreFixture.now
        let store = try fixture.open(now)
        try await ended(store, at: now)
        try await store.write { transaction in
            var record = try #require(try transaction.task(TaskID(1)))
            record.state = .waiting
            record.endedAt = nil
            try transaction.update(record)
            record.state = .failed
            record.endedAt = 1
            record.endedBoot = StoreFixture.now.bootSeconds + 86_400
            try transaction.update(record)
        }
        now.bootSeconds += Self.month
        #expect(try await forgettable(store, at: now) == 0)
        now.bootSeconds += 86_400
        #expect(try await forgettable(store, at: now) == 1)
        try store.close()
    }
}
