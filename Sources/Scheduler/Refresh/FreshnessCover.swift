import NightshiftAPI

/// Which moments of the next day are worth a fetch of one app at a price, solved exactly.
///
/// A fetch covers what is opened within an hour of it. The day is cut into steps; from its end to now, each step is worth what a fetch
/// there covers, less the price, and what comes after that hour; or what the next step is worth, if that is more.
struct FreshnessCover: Sendable {
    /// Seconds that content counts as fresh.
    static let freshSeconds = 3_600.0
    static let stepSeconds = 600.0
    static let wholeStepSeconds = 600
    static let steps = 144
    static let stepsOfFreshness = 6
    /// Of what a fetch gains at its best moment: what it has to gain before that, and what may be lost by waiting after it.
    private static let (leastEarly, mostLost) = (0.95, 0.25)

    /// What a fetch at each step gains: how likely it is that something is opened that would not be fresh without it.
    private let gains: [Double]
    private let most: Double
    /// Steps after a fetch before which another one makes no sense, or is not allowed.
    private let pause: Int

    /// - Parameters:
    ///   - openings: expected openings up to each step, summed; an hour longer than the day.
    ///   - freshSteps: how long the app is fresh without a fetch, in steps from now.
    ///   - isAllowed: whether a fetch may begin at each step.
    ///   - worth: what an opening that is fresh is worth: how likely a fetch brings something.
    ///   - sleep: the app's own interval.
    init(openings: [Double], freshSteps: Double, isAllowed: [Bool], worth: Double, sleep: Double) {
        let fresh = max(0, min(freshSteps, Double(Self.steps)))
        let whole = Int(saturating: fresh)
        let coveredAlready = openings[whole] + (openings[whole + 1] - openings[whole]) * (fresh - Double(whole))
        gains = (0..<Self.steps).map { step in
            guard isAllowed[step] else { return 0 }
            let covered = openings[step + Self.stepsOfFreshness] - max(openings[step], coveredAlready)
            guard covered > 0 else { return 0 }
            // How likely at least one of them happens, like 1 - exp(-covered), in arithmetic that is the same everywhere.
            return worth * (1 - 1 / (1 + covered + covered * covered / 2))
        }
        most = gains.max() ?? 0
        pause = max(Self.stepsOfFreshness, Int(saturating: (min(sleep, 2e5) / Self.stepSeconds).rounded(.up)))
    }

    /// The fetches that are worth their price.
    struct Plan: Hashable {
        /// The step of the first one; nil where none is.
        var first: Int?
        var count = 0
        fileprivate var price: Double
        /// What the rest of the day is worth from each step on; empty where nothing is worth its price.
        fileprivate var values: [Double] = []
    }

    func plan(price: Double) -> Plan {
        var plan = Plan(price: price)
        guard most > price else { return plan }
        // From each step on: what the rest of the day is worth, and how many fetches that takes.
        var values = [Double](repeating: 0, count: Self.steps + 1)
        var counts = [Int](repeating: 0, count: Self.steps + 1)
        for step in stride(from: Self.steps - 1, through: 0, by: -1) {
            let after = min(Self.steps, step + pause)
            let value = gains[step] - price + values[after]
            if gains[step] > price, value > values[step + 1] {
                values[step] = value
                counts[step] = counts[after] + 1
                plan.first = step
            } else {
                values[step] = values[step + 1]
                counts[step] = counts[step + 1]
            }
        }
        plan.count = counts[0]
        plan.values = values
        return plan
    }

    /// The first step that is almost as good as the best one, whatever it costs; nil where none is allowed or gains anything.
    var best: Int? {
        most > 0 ? gains.firstIndex { $0 >= 0.9 * most } : nil
    }

    /// The steps around the first fetch at which it costs little to fetch instead, so that it can share a wake.
    ///
    /// Before it a fetch has to gain almost as much: what it covers that is fresh anyway is gone from the budget. After it, what it costs is
    /// how much less the day is worth with the first fetch there: little in an even day that has no more fetches anyway, much before a habit,
    /// and much where there are fetches enough to cover what is missed meanwhile.
    func window(of plan: Plan) -> ClosedRange<Int>? {
        guard let first = plan.first else { return nil }
        let least = plan.values[first] - Self.mostLost * gains[first]
        func isWorth(_ step: Int) -> Bool {
            gains[step] - plan.price + plan.values[min(Self.steps, step + pause)] >= least
        }
        var (opens, closes) = (first, first)
        while opens > 0, gains[opens - 1] >= Self.leastEarly * gains[first] { opens -= 1 }
        while closes + 1 < Self.steps, closes - first < Self.stepsOfFreshness, isWorth(closes + 1) { closes += 1 }
        return opens...closes
    }

    var gainNow: Double { gains[0] }
}
