import NightshiftAPI
import Receiver
import Testing

/// R6: Tests of a commuter's first days. `make bench` tests weeks, with thresholds.
@Suite struct ReceiverTests {
    private static func row(
        _ strategy: FixStrategy, _ kind: ReceiverKind = .varying, seed: UInt64 = 3
    ) throws -> ReceiverReport.Row {
        let rows = ReceiverReport(seeds: seed...seed, days: 2, strategies: [strategy]).rows
        return try #require(rows.first { $0.kind == kind })
    }

    @Test(arguments: ReceiverKind.allCases)
    func `R6: A commuter's crossings are reported exactly, although the receiver is rarely on`(
        _ kind: ReceiverKind
    ) throws {
        let row = try Self.row(.planned, kind)
        #expect(row.heldSeconds > row.receiverSeconds && row.heldShare < 1)
        #expect(row.crossings > 4 && row.missed == 0 && row.madeUp == 0 && row.delays.count == row.crossings)
        // A crossing is reported only after it has lasted for this time.
        #expect(row.delays.allSatisfy { $0 >= 20 } && row.delays == row.delays.sorted())
        #expect(row.receiverSeconds < 2 * 86_400 / 10)
    }

    @Test func `R6: The same seed gives the same days, and another seed gives other days`() throws {
        let row = try Self.row(.planned)
        #expect(try Self.row(.planned) == row)
        #expect(try Self.row(.planned, seed: 4) != row)
    }
}
