import NightshiftAPI

/// The outcome of a strategy.
package struct Outcome: Sendable {
    /// The times at which fetches ended, by app, in order; in seconds since the trace began.
    package var refreshes: [[Double]]
    /// The number of wakes of the device for fetches, in the counted days.
    package var deviceWakes = 0

    /// Returns the number of fetches in the counted days.
    package func count(_ trace: UseTrace) -> Int { refreshes.reduce(0) { $0 + $1.count { trace.counts($0) } } }
}

/// The number of openings of apps, and how many of them were fresh.
package struct FreshOpenings: Hashable, Sendable {
    package var openings = 0
    package var fresh = 0

    package var share: Double { openings == 0 ? 0 : Double(fresh) / Double(openings) }

    package static let seconds = 3_600.0

    /// Counts openings. An opening is fresh if a fetch ended, or the app was last in use, at most an hour before.
    package init(_ outcome: Outcome, _ trace: UseTrace) {
        for (uses, refreshes) in zip(trace.uses, outcome.refreshes) {
            var next = 0
            for (index, use) in uses.enumerated() {
                while next < refreshes.count, refreshes[next] <= use.lowerBound { next += 1 }
                guard trace.counts(use.lowerBound) else { continue }
                let fetched = next > 0 && use.lowerBound - refreshes[next - 1] <= Self.seconds
                let used = index > 0 && use.lowerBound - uses[index - 1].upperBound <= Self.seconds
                openings += 1
                if fetched || used { fresh += 1 }
            }
        }
    }

    package init() {}

    package static func + (left: FreshOpenings, right: FreshOpenings) -> FreshOpenings {
        var sum = left
        sum.openings += right.openings
        sum.fresh += right.fresh
        return sum
    }
}

/// The strategies with which the planner is compared. All use the same number of fetches per app and day.
package enum Rival: String, CaseIterable, Sendable {
    case none
    case fixed
    case awakeHours
    case oracle

    /// The duration of a fetch in seconds.
    package static let fetchSeconds = 8.0

    package func play(_ trace: UseTrace, perAppAndDay count: Int) -> Outcome {
        var outcome = Outcome(refreshes: Array(repeating: [], count: trace.apps.count))
        switch self {
        case .none: break
        case .fixed:
            for app in trace.apps.indices {
                for day in 0..<trace.counted.upperBound {
                    for turn in 0..<count {
                        let part = (Double(turn) + Double(app) / Double(trace.apps.count)) / Double(count)
                        outcome.refreshes[app].append((Double(day) + part) * 86_400 + Self.fetchSeconds)
                    }
                }
            }
        case .awakeHours:
            // The strategy gets only the counted days, so that it has exactly as many fetches as the others.
            let awake = trace.awake.map { $0.clamped(to: trace.countedTime) }.filter { !$0.isEmpty }
            guard !awake.isEmpty else { return outcome }
            let length = awake.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
            let total = count * trace.counted.count
            for app in trace.apps.indices {
                var (stretch, before) = (0, 0.0)
                for turn in 0..<total {
                    let part = (Double(turn) + Double(app) / Double(trace.apps.count)) / Double(total) * length
                    while stretch < awake.count - 1,
                        part - before >= awake[stretch].upperBound - awake[stretch].lowerBound
                    {
                        before += awake[stretch].upperBound - awake[stretch].lowerBound
                        stretch += 1
                    }
                    outcome.refreshes[app].append(awake[stretch].lowerBound + part - before + Self.fetchSeconds)
                }
            }
        case .oracle:
            var spent = [Int](repeating: 0, count: trace.counted.upperBound + 1)
            var stale: [(at: Double, app: Int)] = []
            for (app, uses) in trace.uses.enumerated() {
                for (index, use) in uses.enumerated()
                where index == 0 || use.lowerBound - uses[index - 1].upperBound > FreshOpenings.seconds {
                    stale.append((use.lowerBound, app))
                }
            }
            for opening in stale.sorted(by: { ($0.at, $0.app) < ($1.at, $1.app) }) {
                let day = Int(saturating: opening.at / 86_400)
                guard day < spent.count, spent[day] < count * trace.apps.count else { continue }
                spent[day] += 1
                outcome.refreshes[opening.app].append(opening.at)
            }
        }
        return outcome
    }
}
