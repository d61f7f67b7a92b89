import Scheduler
import TestSupport
import Testing

/// Tests of the counts of attempts, and of tasks that take turns on a single connection.
@Suite struct AttemptTests {
    @Test func `An attempt whose bytes are lost counts as an attempt without progress`() {
        var record = AttemptRecord()
        #expect(record.hasAdvanced(to: 0))
        record.begin()
        #expect(record.fruitless == 1 && !record.hasAdvanced(to: 0) && record.hasAdvanced(to: 1))
        record.fail()
        record.begin()
        #expect(record == AttemptRecord(failures: 1, fruitless: 2, furthest: 0))
        record.advance(to: 10)
        #expect(record == AttemptRecord(failures: 0, fruitless: 0, furthest: 10))
    }

    @Test func `A transfer fails after many losses in a row, or after fewer large losses`() {
        func record(_ fruitless: Int, _ restarts: Int) -> AttemptRecord {
            AttemptRecord(fruitless: fruitless, restarts: restarts)
        }
        let most = AttemptRecord.mostLosses
        #expect(record(most, most - 1).isHopeless(fetching: 1))
        #expect(!record(most - 1, most - 1).isHopeless(fetching: 1))
        // Attempts without bytes are not enough, and neither are losses with progress between them.
        #expect(!record(1_000, most - 2).isHopeless(fetching: 1))
        #expect(!record(1, 1_000).isHopeless(fetching: 1))
        let large = AttemptRecord.mostLostBytes / 4
        #expect(record(4, 3).isHopeless(fetching: large) && !record(3, 3).isHopeless(fetching: large))
        #expect(record(3, 2).isHopeless(fetching: .max) && !record(2, 2).isHopeless(fetching: .max))
    }

    @Test func `Unrecorded bytes that arrived before a crash count as progress`() {
        var record = AttemptRecord(failures: 4, fruitless: 3, furthest: 10)
        record.start(from: 10)
        #expect(record == AttemptRecord(failures: 4, fruitless: 3, furthest: 10))
        record.start(from: 11)
        // The new attempt still counts.
        #expect(record == AttemptRecord(failures: 0, fruitless: 1, furthest: 11))
    }

    @Test func `After two losses, bytes count as progress only if a response continues them`() {
        var record = AttemptRecord()
        for count in [10, 11] as [Int64] {
            record.begin()
            record.advance(to: count)
            record.fail()
            record.restart()
        }
        #expect(record == AttemptRecord(failures: 1, fruitless: 0, furthest: 11, restarts: 2))
        record.begin()
        record.advance(to: 12)
        record.start(from: 13)
        #expect(record == AttemptRecord(failures: 1, fruitless: 1, furthest: 11, restarts: 2))
        #expect(!record.hasAdvanced(to: 12))
        record.goOn(from: 12)
        #expect(record == AttemptRecord(failures: 0, fruitless: 0, furthest: 12, restarts: 2))
    }

    @Test func `Versions that are resumed once and then discarded do not shorten the pauses`() {
        // Each version is resumed once, fetches one byte more than the last version, and is then discarded.
        var record = AttemptRecord()
        for number in 1...20 {
            let count = 1_000 + Int64(number)
            record.begin()
            record.restart()
            record.advance(to: count)
            #expect(number < 3 || record.failures >= number - 1, "\(record)")
            record.fail()
            record.begin()
            record.goOn(from: count)
            record.fail()
        }
    }

    @Test func `An attempt that the service interrupts does not count as a failure`() {
        var record = AttemptRecord()
        record.begin()
        record.withdraw()
        record.withdraw()
        #expect(record == AttemptRecord())
    }

    @Test(arguments: 0..<30 as Range<UInt64>)
    func `Random steps never make an attempt record illegal`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var record = AttemptRecord()
        var most: Int64 = 0
        for _ in 0..<300 {
            let before = record
            let count = Int64.random(in: 0...most + 3, using: &random)
            let kind = Int.random(in: 0..<40, using: &random)
            switch kind {
            case 39: record.restart()
            case _ where kind % 6 == 0: record.begin()
            case _ where kind % 6 == 1: record.withdraw()
            case _ where kind % 6 == 2: record.fail()
            case _ where kind % 6 == 3: record.start(from: count)
            case _ where kind % 6 == 4: record.goOn(from: count)
            default: record.advance(to: count)
            }
            most = max(most, record.furthest)
            // The high-water mark decreases only at the first loss of bytes, and only bytes beyond it are progress.
            #expect(record.furthest >= before.furthest || before.restarts == 0 && kind == 39, "seed \(seed)")
            if before.restarts > 1, kind % 6 != 4 { #expect(record.furthest == before.furthest, "seed \(seed)") }
            if record.restarts > before.restarts, before.restarts > 0 {
                #expect(record.failures >= before.restarts, "seed \(seed)")
            }
            let isProgress = record.furthest > before.furthest
            if isProgress { #expect(record.failures == 0 && record.fruitless <= 1, "seed \(seed)") }
            if record.failures < before.failures { #expect(isProgress, "seed \(seed)") }
            #expect(record.failures >= 0 && record.fruitless >= 0, "seed \(seed)")
            #expect(record.hasAdvanced(to: record.furthest) == (record.fruitless == 0), "seed \(seed)")
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `Transfers that have failed take turns with transfers that have not failed`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var turns = ConnectionTurns<Int>()
        var last: [Int: (hasFailed: Bool, connections: Int)] = [:]
        #expect(!turns.isTurnOfFailed)
        for _ in 0..<200 {
            if Int.random(in: 0..<8, using: &random) == 0 {
                let known = (0..<5).filter { _ in Bool.random(using: &random) }
                turns.keep(known)
                last = last.filter { known.contains($0.key) }
            } else {
                let (lane, hasFailed) = (Int.random(in: 0..<5, using: &random), Bool.random(using: &random))
                let connections = Int.random(in: 1...2, using: &random)
                turns.began(hasFailed: hasFailed, lane: lane, connections: connections)
                last[lane] = (hasFailed, connections)
                #expect(turns.isTurnOfFailed == !hasFailed, "seed \(seed)")
            }
            for lane in 0..<5 {
                let isTurn = last[lane].map { !$0.hasFailed && $0.connections == 1 } ?? false
                #expect(turns.isTurnOfFailed(in: lane) == isTurn, "seed \(seed)")
            }
        }
    }
}
