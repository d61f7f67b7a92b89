import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of the discretion of a task as its time runs out.
@Suite struct LooseningTests {
    private static let limit = Discretion.TimeLimit(deadline: 1_100, timeout: 1_000)

    @Test(
        arguments: [(.none, nil), (.relaxed, 1_000), (.full, 600)] as [(TransferRules.Discretion, Double?)])
    func `Requirements relax at half and at nine tenths of the resource timeout`(
        level: TransferRules.Discretion, relaxesAt: Double?
    ) {
        var discretion = Discretion(level)
        discretion.schedule(Self.limit)
        #expect(discretion.relaxesAt == relaxesAt)
        discretion.schedule(nil)
        #expect(discretion.relaxesAt == nil)
    }

    @Test func `Full discretion first becomes relaxed discretion, and then ends`() {
        var discretion = Discretion(.full)
        discretion.schedule(Self.limit)
        #expect(discretion.loosen(Self.limit) == "Half of the transfer's time limit has passed.")
        #expect(discretion == Discretion(.relaxed, relaxesAt: 1_000))
        #expect(discretion.inputs == ["discretion": "relaxed"])
        #expect(discretion.loosen(Self.limit) == "Nine tenths of the transfer's time limit have passed.")
        #expect(discretion == Discretion(.none))
        #expect(discretion.loosen(Self.limit) == nil)
    }

    @Test func `Forced discretion can be removed, and does not replace the discretion of the app`() {
        var forced = Discretion(.none)
        forced.force(Self.limit)
        #expect(forced == Discretion(.full, isForced: true, relaxesAt: 600))
        forced.lift()
        #expect(forced == Discretion(.none))
        var own = Discretion(.relaxed, relaxesAt: 1_000)
        own.force(Self.limit)
        #expect(own == Discretion(.relaxed, relaxesAt: 1_000))
    }

    @Test func `A time limit exists only with both a deadline and a timeout`() {
        #expect(Discretion.TimeLimit(deadline: nil, timeout: 5) == nil)
        #expect(Discretion.TimeLimit(deadline: 5, timeout: nil) == nil)
        #expect(Discretion.TimeLimit(deadline: 1_100 as Double?, timeout: 1_000 as Double?) == Self.limit)
    }

    @Test(arguments: [(1, "1 transfer."), (7, "7 transfers.")])
    func `The journal counts the tasks whose conditions were lifted`(count: Int, words: String) {
        let now = ClockReading(bootID: "boot", bootSeconds: 5, wallSeconds: 50)
        let entry = JournalEntry.conditionsLifted(of: AppID(rawValue: "a"), tasks: count, at: now.date)
        #expect(entry.decision == .conditionsLifted && entry.detail == words && entry.app?.rawValue == "a")
        #expect(entry.time == now.date && entry.task == nil)
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `Random steps never make the discretion illegal`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let levels = TransferRules.Discretion.allCases
        var discretion = Discretion(levels.randomElement(using: &random) ?? .none)
        let limit = Bool.random(using: &random) ? Self.limit : nil
        discretion.schedule(limit)
        for _ in 0..<200 {
            let before = discretion
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                discretion.force(limit)
                // Forcing never changes the app's own choice.
                #expect(before.level == .none || discretion == before, "seed \(seed)")
                #expect(discretion.level != .none, "seed \(seed)")
            case 1:
                discretion.lift()
                #expect(discretion.level == .none, "seed \(seed)")
            case 2:
                let words = discretion.loosen(limit)
                #expect((words != nil) == (before.level != .none), "seed \(seed)")
                let next: TransferRules.Discretion = before.level == .full ? .relaxed : .none
                #expect(discretion.level == next, "seed \(seed)")
            default: discretion.schedule(limit)
            }
            // A task without discretion is not forced, and has no requirement to relax.
            if discretion.level == .none { #expect(discretion == Discretion(.none), "seed \(seed)") }
            let due = discretion.level == .full ? 600.0 : discretion.level == .relaxed ? 1_000 : nil
            #expect(discretion.relaxesAt == (limit == nil ? nil : due), "seed \(seed)")
        }
    }
}
