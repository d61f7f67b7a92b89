import Scheduler

/// The results of strategies for several people, at several budgets.
package struct FreshnessReport: Hashable, Sendable, Codable {
    package var rows: [Row] = []

    /// The results of one person, or of all people together, at one budget.
    package struct Row: Hashable, Sendable, Codable {
        /// The person; nil for all people together.
        package var person: String?
        package var perAppAndDay: Int
        package var openings: Int
        /// The share of openings that were fresh, by strategy.
        package var fresh: [String: Double]
        /// The number of wakes of the device, by strategy.
        package var deviceWakes: [String: Int]
        /// The number of fetches, by strategy.
        package var fetches: [String: Int]
    }

    /// The name of the planner, with and without shared wakes.
    package static let planner = "planner"
    package static let alone = "alone"

    package init(_ traces: [UseTrace], perAppAndDay counts: [Int]) {
        for count in counts {
            var sums: [String: FreshOpenings] = [:]
            var all = Row(perAppAndDay: count, openings: 0, fresh: [:], deviceWakes: [:], fetches: [:])
            for trace in traces {
                var outcomes = [(String, Outcome)]()
                for rival in Rival.allCases {
                    outcomes.append((rival.rawValue, rival.play(trace, perAppAndDay: count)))
                }
                outcomes.append((Self.planner, PlannedPlay.play(trace, perAppAndDay: count)))
                // These wakes exclude wakes that only plan, which favours the strategy that coalescing is compared
                // with.
                let alone = PlannedPlay.play(trace, perAppAndDay: count, tuning: .alone, countsLooks: false)
                outcomes.append((Self.alone, alone))
                var row = Row(
                    person: trace.name, perAppAndDay: count, openings: 0, fresh: [:], deviceWakes: [:], fetches: [:])
                for (name, outcome) in outcomes {
                    let freshness = FreshOpenings(outcome, trace)
                    sums[name] = (sums[name] ?? FreshOpenings()) + freshness
                    row.openings = freshness.openings
                    row.fresh[name] = freshness.share
                    row.deviceWakes[name] = outcome.deviceWakes
                    row.fetches[name] = outcome.count(trace)
                    all.deviceWakes[name, default: 0] += outcome.deviceWakes
                    all.fetches[name, default: 0] += outcome.count(trace)
                }
                rows.append(row)
            }
            for (name, sum) in sums {
                all.openings = sum.openings
                all.fresh[name] = sum.share
            }
            rows.append(all)
        }
    }
}
