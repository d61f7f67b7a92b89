import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// R2: Tests of the rules that always hold for fetches.
@Suite struct RefreshWalkTests {
    /// The rules for fetches. They are checked without knowledge of how the planner decides.
    private struct Law {
        var intervals: [AppID: RefreshInterval] = [:]
        var isOff: Set<AppID> = []
        var isQuit: Set<AppID> = []
        var inFront: Set<AppID> = []
        var underWay: [AppID: Double] = [:]
        var ended: [AppID: Double] = [:]
        var caps: [AppID: Int] = [:]
        var begun: [AppID: [Int]] = [:]
        var spent = RefreshCost(energy: 0, bytes: 0)

        /// Returns the rule that a wake of `app` would break now, or nil.
        func mistake(_ app: AppID, _ conditions: RefreshConditions, _ now: LocalMoment) -> String? {
            if conditions.hold != nil { return "forbidden to all" }
            guard let interval = intervals[app], interval != .never else { return "not wanted" }
            if isOff.contains(app) || isQuit.contains(app) || inFront.contains(app) { return "forbidden" }
            if underWay[app] != nil { return "twice at once" }
            if let last = ended[app], now.seconds < last + interval.sleep { return "before its interval" }
            if let cap = caps[app], (begun[app] ?? []).count(where: { $0 == now.day }) >= cap {
                return "beyond its cap"
            }
            return nil
        }
    }

    private struct Walk {
        static let apps = (0..<6).map { AppID(rawValue: "org.example.App\($0)") }
        var random: SplitMix64
        var planner = RefreshPlanner(daily: Self.daily, now: RefreshScene.moment(0))
        var conditions = RefreshConditions()
        var law = Law()
        var seconds = RefreshScene.start
        var plans: [RefreshPlan] = []
        var mistakes: [String] = []

        static let daily = RefreshCost(energy: 20 * RefreshCost.expected.energy, bytes: 15 * RefreshCost.expected.bytes)

        init(seed: UInt64) { random = SplitMix64(seed: seed) }

        var now: LocalMoment { LocalMoment(seconds: seconds, offset: 3_600) }

        mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

        mutating func step() {
            let waits = [1.0, 30, 600, 3_000, 20_000]
            let wait = waits[Int.random(in: 0..<waits.count, using: &random)]
            if let look = plans.last?.lookAgain, chance(2) { seconds = max(seconds, look) } else { seconds += wait }
            happen(Self.apps[Int.random(in: 0..<Self.apps.count, using: &random)])
            let plan = planner.plan(conditions, now: now)
            judge(plan)
            plans.append(plan)
        }

        private mutating func happen(_ app: AppID) {
            switch Int.random(in: 0..<14, using: &random) {
            case 0:
                let all: [RefreshInterval] = [.never, .minimum, .minimum, .seconds(900), .seconds(20_000)]
                let interval = all[Int.random(in: 0..<all.count, using: &random)]
                planner.set(interval, for: app, now: now)
                law.intervals[app] = interval
            case 1:
                guard law.intervals[app] != nil else { return }
                let (isOn, cap) = (!chance(4), chance(2) ? Int.random(in: 0...3, using: &random) : nil)
                planner.set(isOn: isOn, dailyCap: cap, for: app)
                law.caps[app] = cap
                if isOn { law.isOff.remove(app) } else { law.isOff.insert(app) }
            case 2, 3, 4:
                guard law.intervals[app] != nil else { return }
                let isInFront = !law.inFront.contains(app)
                planner.appUse(app, isInFront: isInFront, now: now)
                if isInFront {
                    law.inFront.insert(app)
                    law.isQuit.remove(app)
                } else {
                    law.inFront.remove(app)
                }
            case 5:
                guard law.intervals[app] != nil, chance(3) else { return }
                planner.forceQuit(app, now: now)
                law.isQuit.insert(app)
                law.inFront.remove(app)
            case 6: planner.deviceUse(chance(2), now: now)
            case 7: conditions.isAwake = chance(2)
            case 8: conditions.device.isLowPower = chance(6)
            case 9: conditions.device.network.isAvailable = !chance(6)
            case 10: conditions.isOn = !chance(6)
            case 11...12: endFetches()
            default: break
            }
        }

        private mutating func endFetches() {
            for app in Self.apps where law.underWay[app] != nil {
                let result = RefreshResult.allCases[Int.random(in: 0..<3, using: &random)]
                let part = Double(Int.random(in: 0...8, using: &random)) / 8
                let expected = RefreshCost.expected
                let cost = RefreshCost(energy: expected.energy * part, bytes: expected.bytes * part)
                planner.fetchEnded(app, result, took: cost, now: now)
                law.underWay[app] = nil
                law.ended[app] = seconds
                law.spent.energy += cost.energy
                law.spent.bytes += cost.bytes
            }
        }

        private mutating func judge(_ plan: RefreshPlan) {
            for app in plan.wake {
                if let mistake = law.mistake(app, conditions, now) { mistakes.append("\(app): \(mistake)") }
                law.underWay[app] = seconds
                law.begun[app, default: []].append(now.day)
            }
            // Every app is either woken or has a reason.
            let known = Set(law.intervals.keys)
            if Set(plan.wake).union(plan.holds.keys) != known { mistakes.append("somebody is not told") }
            if !Set(plan.wake).isDisjoint(with: plan.holds.keys) { mistakes.append("an app is both woken and held") }
            if let look = plan.lookAgain, look <= seconds { mistakes.append("it looks again at once") }
            if let wake = plan.wakeDevice, wake < plan.lookAgain ?? .infinity {
                mistakes.append("the device is woken before there is anything to look at")
            }
            // The spending is at most the accrued budget, plus the amount by which one fetch of each app exceeded its
            // estimate.
            let days = 0.25 + (seconds - RefreshScene.start) / 86_400 + 1e-6
            let (each, count) = (RefreshCost.expected, Double(Self.apps.count))
            if law.spent.energy > Self.daily.energy * days + each.energy * count
                || law.spent.bytes > Self.daily.bytes * days + each.bytes * count
            {
                mistakes.append("over budget")
            }
            // No fetch begins with a negative balance.
            let balance = planner.budget.balance
            if !plan.wake.isEmpty, balance.energy < 0 || balance.bytes < 0 { mistakes.append("on credit") }
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `Random days never break a rule for fetches`(seed: UInt64) {
        var walk = Walk(seed: seed)
        for _ in 0..<300 { walk.step() }
        #expect(walk.mistakes == [], "seed \(seed)")
        #expect(walk.plans.contains { !$0.wake.isEmpty }, "seed \(seed)")
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `The planner decides the same on random days if its state is stored in between`(seed: UInt64) throws {
        var (one, other, stored) = (Walk(seed: seed), Walk(seed: seed), Walk(seed: seed))
        for step in 0..<200 {
            one.step()
            other.step()
            stored.step()
            if step.isMultiple(of: 40) {
                stored.planner = try JSON.decode(RefreshPlanner.self, from: JSON.encode(stored.planner))
            }
        }
        #expect(one.plans == other.plans && one.planner == other.planner)
        #expect(one.plans == stored.plans && one.planner == stored.planner)
    }
}
