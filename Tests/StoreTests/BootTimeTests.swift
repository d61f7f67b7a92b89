import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests that stored boot times keep their meaning when the boot clock restarts.
@Suite struct BootTimeTests {
    struct Row: Sendable {
        var now: ClockReading
        var shift: Double
        /// The shift of the times at which something ends. Unobserved time does not count for these times.
        var seenShift: Double
    }

    static let rows = [
        Row(now: ClockReading(bootID: "boot-1", bootSeconds: 1_500, wallSeconds: 0), shift: 0, seenShift: 0),
        // The machine was off for 600 seconds, and has now been on for 20.
        Row(
            now: ClockReading(bootID: "boot-2", bootSeconds: 20, wallSeconds: 1_800_000_600), shift: -1_580,
            seenShift: -1_000),
        // The battery of this wall clock has failed, so no time is known to have passed.
        Row(now: ClockReading(bootID: "boot-2", bootSeconds: 20, wallSeconds: 5), shift: -980, seenShift: -1_000),
        // This wall clock is forty days ahead.
        Row(
            now: ClockReading(bootID: "boot-2", bootSeconds: 20, wallSeconds: 1_803_456_000), shift: -3_456_980,
            seenShift: -1_000),
    ]

    @Test(arguments: rows) func `A boot time follows a change of the wall clock`(_ row: Row) {
        #expect(row.now.shift(from: StoreFixture.now) == row.shift)
        #expect(row.now.seenShift(from: StoreFixture.now) == row.seenShift)
    }

    @Test(arguments: rows) func `A new boot converts stored boot times, and keeps wall-clock times`(_ row: Row)
        async throws
    {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let (open, ended, suspended) = try await store.write { transaction in
            try transaction.putSession(.terminal, SessionSettings())
            var record = TaskRecord.waiting()
            record.deadline = 9_000
            record.notBefore = 1_060
            record.relaxesAt = 5_000
            record.beginAt = 1_800_009_000
            let open = try transaction.insert(record).id
            record.state = .suspended
            record.deadline = nil
            record.timeLeft = 77
            let suspended = try transaction.insert(record).id
            var ended = try transaction.insert(.waiting())
            ended.state = .cancelled
            ended.endedAt = 1_800_000_000
            try transaction.update(ended)
            return (open, ended.id, suspended)
        }
        try store.close()
        // A second close does not affect the next store, and does not crash the process.
        try store.close()
        let again = try fixture.open(row.now)
        let record = try #require(try await again.read { try $0.task(open) })
        #expect(record.deadline == 9_000 + row.seenShift)
        #expect(record.notBefore == 1_060 + row.shift)
        #expect(record.relaxesAt == 5_000 + row.seenShift)
        // Times of the wall clock stay unchanged.
        #expect(record.beginAt == 1_800_009_000)
        #expect(try await again.read { try $0.task(suspended) }?.timeLeft == 77)
        #expect(try await again.read { try $0.task(ended) }?.endedAt == 1_800_000_000)
    }

    @Test func `Several reboots shorten a deadline only by the observed time`() async throws {
        let fixture = try StoreFixture()
        var now = StoreFixture.now
        let store = try fixture.open(now)
        let id = try await store.write { transaction in
            try transaction.putSession(.terminal, SessionSettings())
            var record = TaskRecord.waiting()
            record.deadline = 1_000 + 50_000
            return try transaction.insert(record).id
        }
        try store.close()
        for boot in 2...6 {
            // The machine is on for 100 observed seconds, and then off for 400.
            now.bootSeconds += 100
            now.wallSeconds += 100
            let open = try fixture.open(now)
            try await open.write { [now] in try $0.putClock(now) }
            try open.close()
            now = ClockReading(bootID: "boot-\(boot)", bootSeconds: 7, wallSeconds: now.wallSeconds + 400)
            try fixture.open(now).close()
        }
        let last = try fixture.open(now)
        let deadline = try #require(try await last.read { try $0.task(id) }?.deadline)
        // Only the wall clock measures the time off, and it may be wrong, so it ends no task.
        #expect(abs(deadline - now.bootSeconds - (50_000 - 5 * 100 - 5 * 7)) < 0.001)
    }
}
