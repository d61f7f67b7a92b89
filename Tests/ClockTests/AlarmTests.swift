import Clock
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing

/// Tests of alarms. An alarm rings once, at the last time that its owner set.
@Suite(.timeLimit(.minutes(20))) struct AlarmTests {
    /// Owns an alarm, like the service's actors.
    private actor Owner {
        private var alarm = Alarm()
        private let clock: ManualClock
        let rings = Watched<[Double]>([])

        init(_ clock: ManualClock) {
            self.clock = clock
        }

        var moment: Double? { alarm.moment }

        /// Sets the time of the alarm, or removes it.
        ///
        /// - Parameter late: the seconds by which the boot clock is later than `moment`.
        func set(_ moment: Double?, late: Double = 0) {
            alarm.set(for: moment, atBootSeconds: moment.map { $0 + late }, by: clock) { await self.rang($0) }
        }

        /// Lets the alarm's sleep end, and sets another time before the owner handles the ring.
        func letCome(_ moment: Double, andSet next: Double) {
            clock.advance(to: moment)
            set(next)
        }

        func cancel() { alarm.cancel() }

        private func rang(_ moment: Double) {
            alarm.rang(moment)
            rings.update { $0.append(moment) }
        }
    }

    private static func clock(at bootSeconds: Double = 0) -> ManualClock {
        ManualClock(ClockReading(bootID: "one", bootSeconds: bootSeconds, wallSeconds: 1_000))
    }

    @Test func `An alarm rings at its time and then has no time`() async throws {
        let clock = Self.clock()
        let owner = Owner(clock)
        await owner.set(5)
        #expect(await owner.moment == 5)
        try await eventually("the sleep") { clock.nextWaking == 5 }
        clock.advance(to: 5)
        try await owner.rings.wait(for: "the ring") { $0 == [5] }
        #expect(await owner.moment == nil)
    }

    @Test func `An alarm rings at once if its time is in the past`() async throws {
        let owner = Owner(Self.clock(at: 10))
        await owner.set(5)
        try await owner.rings.wait(for: "the ring") { $0 == [5] }
    }

    @Test func `Setting an alarm to the time that it already has changes nothing`() async throws {
        let clock = Self.clock()
        let owner = Owner(clock)
        await owner.set(5)
        await owner.set(5, late: 1)
        try await eventually("the sleep") { clock.sleepers == 1 }
        #expect(clock.nextWaking == 5)
    }

    @Test func `Setting an alarm to another time replaces the earlier time`() async throws {
        let clock = Self.clock()
        let owner = Owner(clock)
        for moment in [9, 5, 7] as [Double] { await owner.set(moment) }
        try await eventually("the last sleep alone") { clock.sleepers == 1 && clock.nextWaking == 7 }
        clock.advance(to: 20)
        try await owner.rings.wait(for: "the ring") { !$0.isEmpty }
        await owner.set(21)
        clock.advance(to: 21)
        try await owner.rings.wait(for: "the next ring") { $0.count > 1 }
        #expect(owner.rings.read { $0 } == [7, 21])
    }

    /// The owner may have removed the past time from its next deadline, but it must still handle the ring.
    @Test func `An alarm that is due rings although its owner sets another time first`() async throws {
        let clock = Self.clock()
        let owner = Owner(clock)
        await owner.set(5)
        try await eventually("the sleep") { clock.nextWaking == 5 }
        await owner.letCome(5, andSet: 7)
        clock.advance(to: 7)
        try await owner.rings.wait(within: .seconds(60), for: "the ring of the other") { $0.contains(7) }
        #expect(owner.rings.read { $0 } == [5, 7])
    }

    @Test func `An alarm without a time does not sleep`() async throws {
        let clock = Self.clock()
        let owner = Owner(clock)
        await owner.set(5)
        await owner.set(nil)
        #expect(await owner.moment == nil)
        try await eventually("no sleep") { clock.sleepers == 0 }
    }

    /// A deadline may be a time of the awake clock. The alarm then sleeps until the corresponding time of the boot
    /// clock.
    @Test func `An alarm passes on the time that its owner set, not the time of the boot clock`() async throws {
        let clock = Self.clock()
        let owner = Owner(clock)
        await owner.set(5, late: 100)
        try await eventually("the sleep") { clock.nextWaking == 105 }
        clock.advance(to: 105)
        try await owner.rings.wait(for: "the ring") { $0 == [5] }
    }

    /// A stopping service cancels its alarms. A cancelled alarm does not ring, and setting its time again does not
    /// start it.
    @Test func `A cancelled alarm does not ring until its owner sets another time`() async throws {
        let clock = Self.clock()
        let owner = Owner(clock)
        await owner.set(5)
        await owner.cancel()
        await owner.set(5)
        try await eventually("no sleep") { clock.sleepers == 0 }
        #expect(await owner.moment == 5)
        await owner.set(6)
        clock.advance(to: 6)
        try await owner.rings.wait(for: "the ring of the other") { !$0.isEmpty }
        #expect(owner.rings.read { $0 } == [6])
    }

    /// A model of an alarm that uses no concurrency.
    private struct Model {
        var now: Double = 0
        var moment: Double?
        var isCancelled = false
        var rings: [Double] = []

        var sleepers: Int { moment == nil || isCancelled ? 0 : 1 }

        mutating func set(_ moment: Double?) {
            guard moment != self.moment else { return }
            (self.moment, isCancelled) = (moment, false)
            ring()
        }

        mutating func advance(by seconds: Double) {
            now += seconds
            ring()
        }

        private mutating func ring() {
            guard let moment, moment <= now, !isCancelled else { return }
            rings.append(moment)
            self.moment = nil
        }
    }

    @Test(arguments: 1...10) func `In random walks an alarm rings exactly when its model does`(_ seed: Int) async throws
    {
        var random = SplitMix64(seed: UInt64(seed))
        let clock = Self.clock()
        let owner = Owner(clock)
        var model = Model()
        for step in 1...60 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                await owner.cancel()
                model.isCancelled = model.moment != nil
            case 1:
                await owner.set(nil)
                model.set(nil)
            case 2...6:
                let moment = (model.now - 2 + Double.random(in: 0..<10, using: &random)).rounded()
                await owner.set(moment)
                model.set(moment)
            default:
                let seconds = Double.random(in: 0..<5, using: &random).rounded()
                clock.advance(to: model.now + seconds)
                model.advance(by: seconds)
            }
            let (rings, sleepers) = (model.rings, model.sleepers)
            try await owner.rings.wait(for: "the rings of step \(step), seed \(seed)") { $0 == rings }
            try await eventually("the sleep of step \(step), seed \(seed)") { clock.sleepers == sleepers }
            #expect(await owner.moment == model.moment, "seed \(seed), step \(step)")
        }
    }
}
