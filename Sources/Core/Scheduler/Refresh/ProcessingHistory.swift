import NightshiftAPI

/// The processing history of one app, which determines the earliest start of its next task. The history is kept across
/// restarts.
///
/// Apple's sample submits the next task while the current one runs. Without limits, such a task would run continuously
/// on external power. Therefore the distance between two runs of a task doubles while the task runs repeatedly. All
/// tasks of an app also share a budget of running time that accrues evenly. Times are seconds since 1970. See
/// `docs/decisions/0059`.
package struct ProcessingHistory: Hashable, Sendable, Codable {
    /// The seconds of running time that accrue per day. This is also the maximum balance.
    package static let daily = 3_600.0
    /// The minimum number of seconds that are counted for a run, because a launch has a cost. The next constant is the
    /// maximum if the end of the run was not observed.
    package static let shortestRun = 60.0
    package static let longestRun = 300.0
    /// The distance in seconds after the first run of a task. The next constant is the longest distance.
    package static let firstDistance = 900.0
    package static let longestDistance = 28_800.0
    /// The number of seconds without a run after which the distance is reset. This is more than the longest distance,
    /// and less than a night and a day.
    package static let rest = 43_200.0
    /// The number of remembered tasks: twice the number that may wait. Other tasks are subject only to the budget.
    package static let most = 2 * Limits.processingTasks

    /// The remaining seconds of running time. The value is negative after a run that took longer than allowed.
    private var balance = daily
    /// The time up to which the budget has accrued; nil before the first run.
    private var filled: Double?
    private var runs: [String: Run] = [:]

    private struct Run: Hashable, Sendable, Codable {
        var ended: Double
        /// The number of consecutive runs without a rest.
        var inARow: Int

        /// The earliest start of the next run in seconds since 1970.
        var next: Double {
            var distance = ProcessingHistory.firstDistance
            for _ in 1..<max(1, min(inARow, 16)) { distance = min(ProcessingHistory.longestDistance, distance * 2) }
            return ended + distance
        }
    }

    package init() {}

    /// Records the end of a task.
    package mutating func ended(_ identifier: String, began: Double, now: Double) {
        fill(to: now)
        balance -= max(Self.shortestRun, min(now - began, Self.longestRun))
        let last = runs[identifier]
        let isRested = last.map { began - $0.ended >= Self.rest } ?? true
        runs[identifier] = Run(ended: now, inARow: isRested ? 1 : (last?.inARow ?? 0) + 1)
        while runs.count > Self.most, let oldest = runs.min(by: { ($0.value.ended, $0.key) < ($1.value.ended, $1.key) })
        {
            runs[oldest.key] = nil
        }
    }

    /// Replaces times in the future by `now`, after the clock was set back.
    ///
    /// - Returns: whether any time was replaced.
    package mutating func limit(to now: Double) -> Bool {
        let before = self
        filled = filled.map { min($0, now) }
        for (identifier, run) in runs where run.ended > now { runs[identifier]?.ended = now }
        return self != before
    }

    /// Returns the reason why a task has to wait; nil if its earlier runs allow another run.
    func hold(_ identifier: String, now: Double) -> ProcessingPlanner.Held? {
        if let next = runs[identifier]?.next, now < next { return ProcessingPlanner.Held(hold: .distance, until: next) }
        var copy = self
        copy.fill(to: now)
        let missing = Self.shortestRun - copy.balance
        // A shortage of less than a second is a rounding error.
        guard missing > Self.daily / LocalMoment.daySeconds else { return nil }
        return ProcessingPlanner.Held(hold: .budget, until: now + missing / Self.daily * LocalMoment.daySeconds)
    }

    private mutating func fill(to now: Double) {
        let share = max(0, now - (filled ?? now)) / LocalMoment.daySeconds
        balance = min(Self.daily, balance + share * Self.daily)
        filled = now
    }
}
