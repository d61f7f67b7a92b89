import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of single admission decisions, as a table.
@Suite struct AdmissionTests {
    private static func small(_ id: Int64, _ priority: Double = 0.5) -> Admission.Candidate {
        Admission.Candidate(id: TaskID(id), priority: priority, isLarge: false)
    }

    private static func large(_ id: Int64, _ priority: Double = 0.5) -> Admission.Candidate {
        Admission.Candidate(id: TaskID(id), priority: priority, isLarge: true)
    }

    private static func failed(
        _ id: Int64, _ times: Int = 1, priority: Double = 0.5, large: Bool = false
    ) -> Admission.Candidate {
        Admission.Candidate(id: TaskID(id), priority: priority, isLarge: large, fruitless: times)
    }

    private static func running(
        _ id: Int64, large: Bool = true, priority: Double = 0.5, since: Double = 0, resumable: Bool = true,
        failed: Bool = false
    ) -> Admission.Running {
        Admission.Running(
            id: TaskID(id), priority: priority, isLarge: large, startedAt: since, isResumable: resumable,
            hasFailed: failed)
    }

    private static func lane(
        _ maximum: Int, running: [Admission.Running] = [], small: [Admission.Candidate] = [],
        large: [Admission.Candidate] = [], allowance: Int = .max, isTurnOfFailed: Bool = false
    ) -> Admission.Lane {
        Admission.Lane(
            maximumConnections: maximum, running: running, small: small, large: large, allowance: allowance,
            isTurnOfFailed: isTurnOfFailed)
    }

    /// Returns 32 slots, of which `running` are taken.
    private static func places(_ running: Int) -> ConnectionSlots {
        var places = ConnectionSlots(maximum: 32)
        for _ in 0..<running { places.add(origin: nil) }
        return places
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var lanes: [Admission.Lane]
        var maximum = 32
        var now: Double = 0
        var start: [Int64] = []
        var makeRoom: [Int64] = []
        var nextDeadline: Double?
    }

    static let rows = [
        Row(testDescription: "nothing waits", lanes: [lane(6)]),
        Row(
            testDescription: "the highest priority first, of equals the oldest",
            lanes: [lane(3, small: [small(5, 0.9), small(2), small(3), small(4)])], start: [5, 2, 3]),
        Row(
            testDescription: "a pause lets nothing start, and a probe one",
            lanes: [lane(6, small: [small(1)], allowance: 0), lane(6, small: [small(2), small(3)], allowance: 1)],
            start: [2]),
        Row(
            testDescription: "the service's limit counts what runs in every lane",
            lanes: [lane(6, running: [running(1), running(2)], small: [small(3)]), lane(6, small: [small(4)])],
            maximum: 3, start: [3]),
        Row(
            testDescription: "a large one does not take the lane's last connection from a small one",
            lanes: [lane(2, small: [small(9, 0.1)], large: [large(1, 0.9), large(2, 0.8)])], start: [1, 9]),
        Row(
            testDescription: "a large one takes the last connection when nobody small waits",
            lanes: [lane(2, large: [large(1), large(2), large(3)])], start: [1, 2]),
        Row(
            testDescription: "with one connection there is no last one to keep",
            lanes: [lane(1, small: [small(2, 0.1)], large: [large(1, 0.9)])], start: [1]),
        Row(
            testDescription: "with one connection a small one goes before a large one of equal priority",
            lanes: [lane(1, small: [small(2)], large: [large(1)])], start: [2]),
        Row(
            testDescription: "so it does where the service runs one transfer",
            lanes: [lane(6, large: [large(1)]), lane(6, small: [small(2)])], maximum: 1, start: [2]),
        Row(
            testDescription: "in one lane as well",
            lanes: [lane(6, small: [small(2)], large: [large(1)])], maximum: 1, start: [2]),
        Row(
            testDescription: "a large one does not take the service's last place from a small one elsewhere",
            lanes: [lane(6, large: [large(1, 0.9), large(2, 0.9)]), lane(6, small: [small(3, 0.1)])], maximum: 2,
            start: [1, 3]),
        Row(
            testDescription: "a small one that may not start keeps no place",
            lanes: [lane(6, large: [large(1), large(2)]), lane(6, small: [small(3)], allowance: 0)], maximum: 2,
            start: [1, 2]),
        Row(
            testDescription: "after its slice a large one makes room",
            lanes: [lane(2, running: [running(1, since: 5), running(2, since: 3)], small: [small(3)])], now: 13,
            makeRoom: [2]),
        Row(
            testDescription: "before its slice is over it is looked at again then",
            lanes: [lane(2, running: [running(1, since: 5), running(2, since: 3)], small: [small(3)])], now: 12,
            nextDeadline: 13),
        Row(
            testDescription: "one that cannot be continued stays",
            lanes: [lane(1, running: [running(1, resumable: false)], small: [small(3)])], now: 100),
        Row(
            testDescription: "one of higher priority stays",
            lanes: [lane(1, running: [running(1, priority: 0.6)], small: [small(3)])], now: 100),
        Row(
            testDescription: "a small task that runs keeps the connection for the small tasks after it",
            lanes: [lane(2, running: [running(1), running(2, large: false)], small: [small(3)])], now: 100),
        Row(
            testDescription: "nobody makes room for a host in a pause",
            lanes: [lane(1, running: [running(1)], small: [small(3)], allowance: 0)], now: 100),
        Row(
            testDescription: "a full service makes room for a small one of any lane, once",
            lanes: [
                lane(6, running: [running(1, since: 1), running(2, since: 2)]), lane(6, small: [small(3)]),
                lane(6, small: [small(4)]),
            ], maximum: 2, now: 20, makeRoom: [1]),
        Row(
            testDescription: "those that have failed take half the connections while others wait",
            lanes: [lane(6, small: (11...16).map { small($0) } + (1...6).map { failed($0) })],
            start: [1, 2, 3, 11, 12, 13]),
        Row(
            testDescription: "what runs counts, and what it has brought counts for it",
            lanes: [
                lane(
                    6, running: [running(7, failed: true), running(8, failed: true), running(9)],
                    small: (11...16).map { small($0) } + (1...6).map { failed($0) })
            ], start: [1, 11, 12]),
        Row(
            testDescription: "with nobody else they take all",
            lanes: [lane(6, small: (1...7).map { failed($0) })], start: [1, 2, 3, 4, 5, 6]),
        Row(
            testDescription:
                "a priority holds for one that has failed, too; of equals the one goes first that failed least",
            lanes: [lane(3, small: [small(1), failed(2, 9, priority: 0.9), failed(3, 1, priority: 0.9)])],
            start: [3, 1, 2]),
        Row(
            testDescription: "one connection goes to one that has not failed",
            lanes: [lane(1, small: [small(2), failed(1)])], start: [2]),
        Row(
            testDescription: "then it is the other's turn",
            lanes: [lane(1, small: [small(2), failed(1)], isTurnOfFailed: true)], start: [1]),
        Row(
            testDescription: "a probe is one that has not failed",
            lanes: [lane(6, small: [small(9, 0.1), failed(1)], allowance: 1)], start: [9]),
        Row(
            testDescription: "or the one that has failed least",
            lanes: [lane(6, small: [failed(1, 5), failed(2, 2), failed(3, 3)], allowance: 1)], start: [2]),
        Row(
            testDescription: "half of the service's places are kept for others, too",
            lanes: [lane(6, small: (1...4).map { failed($0) }), lane(6, small: (5...8).map { small($0) })],
            maximum: 4, start: [1, 2, 5, 6]),
        Row(
            testDescription: "a large one takes the last connection from small ones that have to wait",
            lanes: [
                lane(2, running: [running(7, large: false, failed: true)], small: [failed(1)], large: [large(9)])
            ], start: [9]),
    ]

    @Test(arguments: rows) func `Each plan starts and stops the tasks that its row names`(_ row: Row) {
        let plan = Admission.plan(lanes: row.lanes, maximumTransfers: row.maximum, now: row.now)
        #expect(plan.start == row.start.map { TaskID($0) })
        #expect(plan.makeRoom == row.makeRoom.map { TaskID($0) })
        #expect(plan.nextDeadline == row.nextDeadline)
    }

    @Test func `Each waiting task has the reason of the limit that blocks the task`() {
        let full = Self.lane(1, running: [Self.running(1)], small: [Self.small(2)])
        #expect(Admission.reason(isLarge: false, lane: full, places: Self.places(1)) == .connectionLimit)
        let paused = Self.lane(1, small: [Self.small(2)], allowance: 0)
        #expect(Admission.reason(isLarge: false, lane: paused, places: Self.places(0)) == .hostBackoff)
        let free = Self.lane(4, small: [Self.small(2)], large: [Self.large(3)])
        #expect(Admission.reason(isLarge: false, lane: free, places: Self.places(32)) == .serviceLimit)
        #expect(Admission.reason(isLarge: true, lane: free, places: Self.places(1)) == .smallerFirst)
        #expect(Admission.reason(isLarge: false, lane: free, places: Self.places(1)) == .starting)
        let half = Self.lane(2, running: [Self.running(1, failed: true)], small: [Self.small(2), Self.failed(3)])
        func reason(hasFailed: Bool, othersFirst: Bool = false, lane: Admission.Lane) -> WaitReason {
            Admission.reason(
                isLarge: false, hasFailed: hasFailed, lane: lane, places: Self.places(1),
                othersFirst: othersFirst)
        }
        #expect(reason(hasFailed: true, lane: half) == .othersFirst)
        #expect(reason(hasFailed: false, lane: half) == .starting)
        #expect(reason(hasFailed: true, lane: free) == .starting)
        #expect(reason(hasFailed: true, othersFirst: true, lane: free) == .othersFirst)
    }
}
