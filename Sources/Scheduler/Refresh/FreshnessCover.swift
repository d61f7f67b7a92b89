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
        guard most > price else { return Plan() }
        var values = [Double](repeating: 0, count: Self.steps + 1)
        var chosen = [Bool](repeating: false, count: Self.steps)
        for step in stride(from: Self.steps - 1, through: 0, by: -1) {
            values[step] = values[step + 1]
            guard gains[step] > price else { continue }
            let value = gains[step] - price + values[min(Self.steps, step + pause)]
            if value > values[step + 1] {
                values[step] = value
                chosen[step] = true
            }
        }
        var plan = Plan()
        var step = 0
        while step < Self.steps {
            guard chosen[step] else {
                step += 1
                continue
            }
            if plan.first == nil { plan.first = step }
            plan.count += 1
            step += pause
        }
        return plan
    }

    /// The first step that is almost as good as the best one, whatever it costs; nil where none is allowed or gains anything.
    var best: Int? {
        most > 0 ? gains.firstIndex { $0 >= 0.9 * most } : nil
    }

    /// Up to how many steps after `step`, at most `limit`, a fetch gains almost as much: less so before a habit than in an even day.
    func patience(at step: Int, limit: Int) -> Int {
        let least = 0.7 * gains[step]
        var steps = 0
        while steps < limit, step + steps + 1 < Self.steps, gains[step + steps + 1] >= least { steps += 1 }
        return steps
    }

    var gainNow: Double { gains[0] }
}
