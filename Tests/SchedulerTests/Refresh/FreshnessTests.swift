import Freshness
import NightshiftAPI
import Scheduler
import Testing

/// R2: Tests with the standard people, few apps and few days. `make bench` uses all of them.
@Suite struct FreshnessTests {
    private static func trace(_ person: Person) -> UseTrace { person.trace(apps: 5, days: 18, learning: 10) }

    @Test(arguments: [Person.morningReader, .hourlyChecker, .shiftWorker])
    func `Larger budgets never lower freshness, and learned fetch times beat fixed times`(person: Person) {
        let trace = Self.trace(person)
        var last = FreshOpenings(Rival.none.play(trace, perAppAndDay: 0), trace)
        for count in [2, 6] {
            let outcome = PlannedPlay.play(trace, perAppAndDay: count)
            let fresh = FreshOpenings(outcome, trace)
            #expect(fresh.fresh >= last.fresh && fresh.openings == last.openings)
            #expect(outcome.count(trace) <= count * trace.apps.count * trace.counted.count)
            let rival = FreshOpenings(Rival.awakeHours.play(trace, perAppAndDay: count), trace)
            if count == 2 { #expect(fresh.share > rival.share) }
            last = fresh
        }
    }

    @Test func `Shared wakes cost little freshness and save many wakes`() {
        let trace = Self.trace(.irregular)
        let shared = PlannedPlay.play(trace, perAppAndDay: 4)
        let alone = PlannedPlay.play(trace, perAppAndDay: 4, tuning: .alone, countsLooks: false)
        #expect(Double(shared.deviceWakes) <= 0.6 * Double(alone.deviceWakes))
        #expect(FreshOpenings(shared, trace).share > FreshOpenings(alone, trace).share - 0.05)
    }

    @Test func `The same seed generates the same people, and another seed generates other people`() {
        let one = Person.changer.trace(apps: 8, days: 20)
        #expect(one.events == Person.changer.trace(apps: 8, days: 20).events)
        #expect(one.events != Person.changer.trace(seed: 2, apps: 8, days: 20).events)
        #expect(zip(one.events, one.events.dropFirst()).allSatisfy { $0.at <= $1.at })
    }

    @Test func `A trace of the simulation provides the use of apps`() throws {
        let text = """
            {"trace": {"start": "2026-01-05T06:00:00Z"}}
            {"at": 60, "app": "org.example.A", "use": "front"}
            {"at": 90, "app": "org.example.B", "use": "front"}
            {"at": 120, "app": "org.example.B", "use": "background"}
            {"at": "4d 00:00", "end": true}
            """
        let trace = UseTrace(try Trace(parsing: text), name: "some")
        #expect(trace.apps.map(\.rawValue) == ["org.example.A", "org.example.B"])
        #expect(trace.uses == [[21_660...21_690], [21_690...21_720]])
        #expect(trace.events.map(\.kind) == [.deviceUsed, .opened(0), .left(0), .opened(1), .left(1), .deviceLeft])
        #expect(trace.counted == 1..<5)
    }
}
