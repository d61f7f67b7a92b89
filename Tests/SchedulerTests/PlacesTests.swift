import NightshiftAPI
import Scheduler
import Testing

/// Tests of the service's connection slots while slow transfers use them, as a table.
@Suite struct ConnectionSlotsTests {
    typealias Loss = Admission.Slowness.Loss

    private static func task(_ id: Int64, priority: Double = 0.5, fruitless: Int = 0, isLast: Bool = false)
        -> Admission.Candidate
    {
        Admission.Candidate(id: TaskID(id), priority: priority, isLarge: false, fruitless: fruitless, isLast: isLast)
    }

    private static func running(
        _ ids: ClosedRange<Int64>, slowSince: Double? = nil, loss: Loss = .nothing, isStopping: Bool = false
    ) -> [Admission.Running] {
        ids.map { id in
            Admission.Running(
                id: TaskID(id), priority: 0.5, isLarge: false, startedAt: 0, isResumable: true,
                slowness: slowSince.map { Admission.Slowness(since: $0, loss: loss) }, isStopping: isStopping)
        }
    }

    private static func lane(
        _ origin: String, _ running: [Admission.Running] = [], waiting: [Admission.Candidate] = [],
        connections: Int = 6, allowance: Int = .max
    ) -> Admission.Lane {
        Admission.Lane(
            maximumConnections: connections, running: running, small: waiting, large: [], allowance: allowance,
            origin: origin)
    }

    /// Returns the queues of a number of origins, each with six slow transfers.
    private static func slow(_ origins: Int64, since: Double? = 1, loss: Loss = .nothing) -> [Admission.Lane] {
        (1...origins).map { lane("slow\($0)", running(($0 * 10)...($0 * 10 + 5), slowSince: since, loss: loss)) }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var lanes: [Admission.Lane]
        var maximum = 32
        var now: Double = 5
        var start: [Int64] = []
        var yield: [Int64] = []
        var nextDeadline: Double?
    }

    static let rows = [
        Row(
            testDescription: "Of equals the task goes first at whose origin nothing runs",
            lanes: [
                lane("a", running(1...2), waiting: [task(3)]), lane("b", waiting: [task(8), task(9)]),
                lane("c", waiting: [task(7)]),
            ], maximum: 5, start: [7, 8, 3]),
        Row(
            testDescription: "A priority goes before that",
            lanes: [lane("a", running(1...2), waiting: [task(3, priority: 0.9)]), lane("b", waiting: [task(8)])],
            maximum: 3, start: [3]),
        Row(
            testDescription: "Two sessions with one origin are not two origins",
            lanes: [lane("a", running(1...1)), lane("a", waiting: [task(3)]), lane("b", waiting: [task(8)])],
            maximum: 2, start: [8]),
        Row(
            testDescription: "An origin in trouble is not one that was never tried",
            lanes: [
                lane("a", waiting: [task(7)], allowance: 1), lane("b", waiting: [task(8, fruitless: 1)]),
                lane("c", waiting: [task(9)]),
            ], maximum: 1, start: [9]),
        Row(
            testDescription: "One that has given up its place lately goes last of equals, in its lane as well",
            lanes: [
                lane("a", waiting: [task(1, isLast: true), task(2, priority: 0.4)]), lane("b", waiting: [task(8)]),
                lane("c", waiting: [task(3, isLast: true), task(9)]),
            ], maximum: 3, start: [8, 9, 1]),
        Row(
            testDescription: "The last eighth of the places is kept for origins at which nothing runs",
            lanes: [
                lane("a", running(1...28), waiting: [task(30)], connections: 99),
                lane("b", waiting: [task(40), task(41)]),
            ], start: [40]),
        Row(
            testDescription: "Slow transfers lend their places to other origins",
            lanes: slow(5) + [lane("well", waiting: (91...98).map { task($0) })], start: [91, 92, 93, 94, 95, 96]),
        Row(
            testDescription: "An origin with a slow transfer gets none of them",
            lanes: slow(5) + [
                lane("slow9", running(91...92, slowSince: 1), waiting: [task(95)])
            ]),
        Row(
            testDescription: "Transfers that earn their places lend none",
            lanes: slow(5, since: nil) + [lane("more", running(91...92), waiting: [task(95)])]),
        Row(
            testDescription: "Fewer than eight places are not lent, and given up after a slice",
            lanes: [lane("slow", running(1...2, slowSince: 1)), lane("well", waiting: [task(9)])], maximum: 2,
            nextDeadline: 11),
        Row(
            testDescription: "Then one makes room for each origin that waits",
            lanes: [lane("slow", running(1...2, slowSince: 1)), lane("well", waiting: [task(8), task(9)])], maximum: 2,
            now: 11, yield: [1]),
        Row(
            testDescription: "One that stops already is enough",
            lanes: [
                lane("slow", running(1...1, slowSince: 1) + running(2...2, slowSince: 1, isStopping: true)),
                lane("well", waiting: [task(9)]),
            ], maximum: 2, now: 50),
        Row(
            testDescription: "The one goes that loses the least",
            lanes: [
                lane("a", running(1...1, slowSince: 1, loss: .bytes(7))),
                lane("b", running(2...2, slowSince: 1, loss: .wait)),
                lane("well", waiting: [task(9)]),
            ], maximum: 2, now: 50, yield: [2]),
        Row(
            testDescription: "One that has to begin again waits for the slice of one that has not",
            lanes: [
                lane("a", running(1...1, slowSince: 1, loss: .bytes(7))),
                lane("b", running(2...2, slowSince: 45, loss: .wait)),
                lane("well", waiting: [task(9)]),
            ], maximum: 2, now: 50, nextDeadline: 55),
        Row(
            testDescription: "Where all have to begin again, the one with the fewest bytes does",
            lanes: [
                lane("a", running(1...1, slowSince: 1, loss: .bytes(7))),
                lane("b", running(2...2, slowSince: 1, loss: .bytes(5))), lane("well", waiting: [task(9)]),
            ], maximum: 2, now: 50, yield: [2]),
        Row(
            testDescription: "What may not be sent twice is not stopped",
            lanes: [lane("a", running(1...2, slowSince: 1, loss: .everything)), lane("well", waiting: [task(9)])],
            maximum: 2, now: 50),
        Row(
            testDescription: "A slow transfer stays where only transfers that earn their places could make room",
            lanes: [
                lane("a", running(1...1, slowSince: 1)), lane("b", running(20...50), connections: 99),
                lane("c", running(60...60)), lane("well", waiting: [task(90)]),
            ], now: 50),
        Row(
            testDescription: "Slow transfers that fill a lane let another one of it have a turn",
            lanes: [lane("a", running(1...6, slowSince: 1), waiting: [task(9)])], now: 50, yield: [1]),
        Row(
            testDescription: "None of them waits less for an answer for that",
            lanes: [lane("a", running(1...6, slowSince: 1, loss: .wait), waiting: [task(9)])], now: 50),
    ]

    @Test(arguments: rows) func `T2: Slow transfers do not use all slots of the service`(_ row: Row) {
        let plan = Admission.plan(lanes: row.lanes, maximumTransfers: row.maximum, now: row.now)
        #expect(plan.start == row.start.map { TaskID($0) })
        #expect(plan.yield == row.yield.map { TaskID($0) })
        #expect(plan.nextDeadline == row.nextDeadline && plan.makeRoom.isEmpty)
    }
}
