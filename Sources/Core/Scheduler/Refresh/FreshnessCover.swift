import NightshiftAPI

/// The best times for fetches of one app in the next day at a given price, computed exactly.
///
/// A fetch covers the openings within an hour after it. The day is divided into steps, which are evaluated from the
/// last to the first. The value of a step is the greater of two values. The first is the value of the next step. The
/// second is the gain of a fetch now, less the price, plus the value after the pause.
struct FreshnessCover: Sendable {
    /// The number of seconds for which content counts as fresh.
    static let freshSeconds = 3_600.0
    static let stepSeconds = 600.0
    static let wholeStepSeconds = 600
    static let steps = 144
    static let stepsOfFreshness = 6
    /// Two shares of the gain of the best fetch: the minimum gain of an earlier fetch, and the maximum loss of a later
    /// fetch.
    private static let (leastEarly, mostLost) = (0.95, 0.25)

    /// The gain of a fetch at each step: the probability of an opening that would not be fresh without it.
    private let gains: [Double]
    private let most: Double
    /// The number of steps after a fetch in which another fetch is useless or not allowed.
    private let pause: Int

    /// Computes the gain of a fetch at each step.
    ///
    /// - Parameters:
    ///   - openings: the cumulative number of expected openings up to each step. It extends an hour beyond the day.
    ///   - freshSteps: the number of steps from now for which the app is fresh without a fetch.
    ///   - isAllowed: whether a fetch may begin at each step.
    ///   - worth: the value of a fresh opening, which is the probability that a fetch brings new data.
    ///   - sleep: the app's own interval in seconds.
    init(openings: [Double], freshSteps: Double, isAllowed: [Bool], worth: Double, sleep: Double) {
        let fresh = max(0, min(freshSteps, Double(Self.steps)))
        let whole = Int(saturating: fresh)
        let coveredAlready = openings[whole] + (openings[whole + 1] - openings[whole]) * (fresh - Double(whole))
        gains = (0..<Self.steps).map { step in
            guard isAllowed[step] else { return 0 }
            let covered = openings[step + Self.stepsOfFreshness] - max(openings[step], coveredAlready)
            guard covered > 0 else { return 0 }
            // The formula gives the probability of at least one opening. It approximates 1 - exp(-covered) with
            // arithmetic that is identical on every machine.
            return worth * (1 - 1 / (1 + covered + covered * covered / 2))
        }
        most = gains.max() ?? 0
        pause = max(Self.stepsOfFreshness, Int(saturating: (min(sleep, 2e5) / Self.stepSeconds).rounded(.up)))
    }

    /// The fetches that are worth their price.
    struct Plan: Hashable {
        /// The step of the first fetch; nil if no fetch is worth its price.
        var first: Int?
        var count = 0
        fileprivate var price: Double
        /// The value of the rest of the day from each step on; empty if no fetch is worth its price.
        fileprivate var values: [Double] = []
    }

    func plan(price: Double) -> Plan {
        var plan = Plan(price: price)
        guard most > price else { return plan }
        // The two arrays contain the value of the rest of the day from each step on, and the number of fetches for this
        // value.
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

    /// The first step that is almost as good as the best step, regardless of price; nil if no step is allowed, or if no
    /// step gains anything.
    var best: Int? {
        most > 0 ? gains.firstIndex { $0 >= 0.9 * most } : nil
    }

    /// Returns the steps around the first fetch at which a fetch costs only a little more, so that it can share a wake.
    ///
    /// An earlier fetch must gain almost as much, because it spends budget on openings that are fresh anyway. The cost
    /// of a later fetch is the decrease of the day's value. This cost is small on an even day without further fetches.
    /// It is large before a habitual opening, and if enough fetches could cover the missed openings.
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
