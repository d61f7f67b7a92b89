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
    /// Of what a fetch gains at its best moment, what it has to gain before that, and after it.
    private static let (leastEarly, leastLate) = (0.95, 0.7)

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
    }

    func plan(price: Double) -> Plan {
        var plan = Plan()
        guard most > price else { return plan }
        // What the rest of the day is worth from each step on, and how many fetches that takes.
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
        return plan
    }

    /// The first step that is almost as good as the best one, whatever it costs; nil where none is allowed or gains anything.
    var best: Int? {
        most > 0 ? gains.firstIndex { $0 >= 0.9 * most } : nil
    }

    /// The steps around `step` at which a fetch gains almost as much, so that it can share a wake.
    ///
    /// Before it hardly anything may be lost: what a fetch covers that is fresh anyway is gone from the budget. After it more may be, since
    /// an hour that is covered later is covered all the same; so a window closes before a habit, and stays open through an even day.
    func window(around step: Int) -> ClosedRange<Int> {
        var (opens, closes) = (step, step)
        while opens > 0, gains[opens - 1] >= Self.leastEarly * gains[step] { opens -= 1 }
        while closes + 1 < Self.steps, closes - step < Self.stepsOfFreshness,
            gains[closes + 1] >= Self.leastLate * gains[step]
        {
            closes += 1
        }
        return opens...closes
    }

    var gainNow: Double { gains[0] }
}
