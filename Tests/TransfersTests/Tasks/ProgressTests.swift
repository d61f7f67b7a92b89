import NightshiftAPI
import Store
import Testing

@testable import Transfers

/// Tests that discarded bytes are not progress.
@Suite struct ProgressTests {
    private static func record(tag: String?) -> TaskRecord {
        var record = TaskMachineTests.record()
        var partial = PartialFile(path: "/p", bootID: "b")
        partial.entityTag = tag
        record.partial = partial
        return record
    }

    /// Adds an attempt that has fetched `count` bytes.
    private static func attempt(_ record: inout TaskRecord, _ count: Int64) {
        record.beginAttempt()
        record.received = count
        record.noteProgress()
    }

    @Test func `Bytes from which a download cannot resume are not progress`() {
        var record = Self.record(tag: nil)
        record.failures = 3
        for number in 1...5 {
            Self.attempt(&record, 1_000_000)
            #expect(record.continuableCount == 0 && !record.hasAdvanced)
            #expect(record.fruitless == number && record.failures == 3)
        }
        #expect(record.lossSentence?.contains("from byte 0 each time") == true)
    }

    @Test func `Bytes from which a download can resume are progress`() {
        var record = Self.record(tag: "\"a\"")
        record.failures = 3
        Self.attempt(&record, 1_000_000)
        #expect(record.continuableCount == 1_000_000 && record.furthest == 1_000_000)
        #expect(record.fruitless == 0 && record.failures == 0 && record.lossSentence == nil)
        // The next attempt receives no bytes.
        Self.attempt(&record, 1_000_000)
        #expect(record.fruitless == 1 && !record.hasAdvanced)
    }

    @Test func `A download that restarts repeatedly makes progress only beyond its high-water mark`() {
        var record = Self.record(tag: "\"a\"")
        Self.attempt(&record, 1_000_000)
        // The first time, the file may really have changed.
        record.noteRestart()
        Self.attempt(&record, 500_000)
        #expect(record.hasAdvanced && record.fruitless == 0)
        record.noteRestart()
        Self.attempt(&record, 400_000)
        #expect(!record.hasAdvanced && record.fruitless == 1)
        #expect(record.lossSentence?.contains("repeatedly") == true)
        record.received = 600_000
        record.noteProgress()
        #expect(!record.hasAdvanced && record.fruitless == 1)
        // An attempt must also resume from these bytes.
        record.noteContinuation(from: 600_000)
        #expect(record.hasAdvanced && record.fruitless == 0 && record.failures == 0)
    }

    /// Applies a response, and then a broken connection.
    private static func broken(
        _ record: inout TaskRecord, at count: Int64, offset: Int64 = 0, restart: String? = nil
    ) throws {
        var partial = PartialFile(path: "/p", bootID: "b")
        partial.entityTag = "\"a\""
        let accepted = AcceptedResponse(
            response: ResponseSummary(status: offset > 0 ? 206 : 200, headers: [], httpVersion: "1.1"),
            url: "http://h/", partial: partial, isLarge: false, offset: offset, restart: restart)
        _ = try record.apply(.begin, now: TaskMachineTests.start)
        _ = try record.apply(.accept(accepted), now: TaskMachineTests.start)
        record.received = count
        let failure = TransferFailure(.connectionLost, "gone")
        _ = try record.apply(
            .hold(Hold(reason: .retry, failure: failure, notBefore: 500)), now: TaskMachineTests.start)
    }

    @Test func `One more byte per discarded attempt is not progress`() throws {
        var record = Self.record(tag: nil)
        try Self.broken(&record, at: 1_000)
        for number in 1...20 {
            try Self.broken(&record, at: 1_000 + Int64(number), restart: "changed")
            #expect(record.failures == number && record.fruitless == number - 1)
        }
        #expect(record.lossSentence?.contains("repeatedly") == true)
        // A server that finally continues is trusted.
        try Self.broken(&record, at: 1_500, offset: 1_020)
        #expect(record.failures == 1 && record.fruitless == 0 && record.furthest == 1_020)
    }

    @Test func `A download that continues only every second version makes no progress`() throws {
        var record = Self.record(tag: nil)
        for number in 1...20 {
            let count = 1_000 + Int64(number)
            try Self.broken(&record, at: count, restart: "changed")
            #expect(number < 3 || record.failures >= number)
            try Self.broken(&record, at: count, offset: count)
        }
    }

    @Test func `An upload that is lost repeatedly makes progress only if it is continued`() throws {
        var record = Self.record(tag: nil)
        record.partial = nil
        record.request.kind = .upload
        func resource(_ offset: Int64) -> UploadResource {
            UploadResource(
                url: "http://h/\(offset)", uploadProtocol: .tus, offset: offset, length: 9_000, source: "s",
                sharesSecrets: true)
        }
        let failure = TransferFailure(.connectionLost, "gone")
        for number in 1...20 {
            _ = try record.apply(.begin, now: TaskMachineTests.start)
            _ = try record.apply(.sendAgain(reason: "gone"), now: TaskMachineTests.start)
            _ = try record.apply(.keep(resource(1_000 + Int64(number))), now: TaskMachineTests.start)
            _ = try record.apply(
                .hold(Hold(reason: .retry, failure: failure, notBefore: 500)), now: TaskMachineTests.start)
            #expect(record.failures == max(1, number))
        }
        #expect(record.lossSentence?.contains("did not keep") == true)
        _ = try record.apply(.begin, now: TaskMachineTests.start)
        _ = try record.apply(.sendOn(from: 1_020), now: TaskMachineTests.start)
        #expect(record.failures == 0 && record.hasAdvanced && record.furthest == 1_020)
    }

    @Test func `Bytes after a gap count as progress once the bytes before the gap grow`() throws {
        var record = Self.record(tag: "\"a\"")
        record.failures = 3
        record.beginAttempt()
        var map = SegmentMap(total: 1_000, count: 0, synced: 0)
        map.write(500..<900)
        record.partial?.segments = map
        record.received = map.count
        record.noteProgress()
        #expect(record.continuableCount == 400 && !record.hasAdvanced && record.failures == 3)
        map.write(0..<10)
        record.partial?.segments = map
        record.received = map.count
        record.noteProgress()
        #expect(record.hasAdvanced && record.furthest == 10 && record.failures == 0)
        record.beginAttempt()
        record.noteContinuation(from: map.count)
        #expect(record.hasAdvanced && record.furthest == 410)
    }

    @Test func `An attempt that is cut off by the end of the service counts as one without progress`() {
        var record = Self.record(tag: "\"a\"")
        record.beginAttempt()
        #expect(record.attempts == 1 && record.fruitless == 1)
        record.withdrawAttempt()
        #expect(record.fruitless == 0)
        // Bytes that arrived without a commit count when the next attempt begins.
        record.beginAttempt()
        record.beginAttempt()
        record.failures = 2
        record.received = 1_000
        record.noteStart()
        #expect(record.furthest == 1_000 && record.failures == 0 && record.fruitless == 1)
    }
}
