import NightshiftAPI
import Store
import Testing

@testable import Transfers

/// Bytes that are thrown away are no progress.
@Suite struct ProgressTests {
    private static func record(tag: String?) -> TaskRecord {
        var record = TaskMachineTests.record()
        var partial = PartialFile(path: "/p", bootID: "b")
        partial.entityTag = tag
        record.partial = partial
        return record
    }

    /// An attempt that has fetched `count` bytes.
    private static func attempt(_ record: inout TaskRecord, _ count: Int64) {
        record.beginAttempt()
        record.received = count
        record.noteProgress()
    }

    @Test func bytesThatCannotBeContinuedAreNone() {
        var record = Self.record(tag: nil)
        record.failures = 3
        for number in 1...5 {
            Self.attempt(&record, 1_000_000)
            #expect(record.continuableCount == 0 && !record.hasAdvanced)
            #expect(record.fruitless == number && record.failures == 3)
        }
        #expect(record.lossSentence?.contains("from byte 0 each time") == true)
    }

    @Test func bytesThatCanBeContinuedAre() {
        var record = Self.record(tag: "\"a\"")
        record.failures = 3
        Self.attempt(&record, 1_000_000)
        #expect(record.continuableCount == 1_000_000 && record.furthest == 1_000_000)
        #expect(record.fruitless == 0 && record.failures == 0 && record.lossSentence == nil)
        // The next attempt brings nothing.
        Self.attempt(&record, 1_000_000)
        #expect(record.fruitless == 1 && !record.hasAdvanced)
    }

    @Test func whoBeginsAgainAndAgainHasToComeFurtherThanEver() {
        var record = Self.record(tag: "\"a\"")
        Self.attempt(&record, 1_000_000)
        // The first time the file may well be another one.
        record.noteRestart()
        Self.attempt(&record, 500_000)
        #expect(record.hasAdvanced && record.fruitless == 0)
        record.noteRestart()
        Self.attempt(&record, 400_000)
        #expect(!record.hasAdvanced && record.fruitless == 1)
        #expect(record.lossSentence?.contains("again and again") == true)
        record.received = 600_000
        record.noteProgress()
        #expect(record.hasAdvanced && record.fruitless == 0)
    }

    @Test func anAttemptThatDiesWithTheServiceWasFruitless() {
        var record = Self.record(tag: "\"a\"")
        record.beginAttempt()
        #expect(record.attempts == 1 && record.fruitless == 1)
        record.withdrawAttempt()
        #expect(record.fruitless == 0)
        // What came without being written down counts when the next one begins.
        record.beginAttempt()
        record.beginAttempt()
        record.failures = 2
        record.received = 1_000
        record.noteStart()
        #expect(record.furthest == 1_000 && record.failures == 0 && record.fruitless == 1)
    }
}
