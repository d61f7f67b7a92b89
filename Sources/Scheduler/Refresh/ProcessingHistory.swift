import NightshiftAPI

/// The processing of one app up to now, from which follows when its next task may begin. Kept across restarts.
///
/// A task that submits its successor as it runs, as Apple's sample does, would run without a pause on external power. The distance between
/// two runs of a task doubles while it runs again and again, and all tasks of an app share a budget of running time, which flows in
/// evenly. Times are seconds since 1970. See `docs/decisions/0059`.
package struct ProcessingHistory: Hashable, Sendable, Codable {
    /// Seconds of running that flow in on a day, and the most that is kept.
    package static let daily = 3_600.0
    /// Seconds that a run counts as at least, since a launch is work, too; and at most, if nobody saw its end.
    package static let shortestRun = 60.0
    package static let longestRun = 300.0
    /// Seconds after the first run of a task, and the most after any.
    package static let firstDistance = 900.0
    package static let longestDistance = 28_800.0
    /// Seconds without a run after which the distance is the first one again: more than the longest distance, less than a night and a day.
    package static let rest = 43_200.0
    /// Tasks that are remembered: twice as many as may wait. The budget holds for those that are not.
    package static let most = 2 * Limits.processingTasks

    /// Seconds of running that are left; below zero after a run that took more.
    private var balance = daily
    /// Up to when the budget has flowed in; nil before the first run.
    private var filled: Double?
    private var runs: [String: Run] = [:]

    private struct Run: Hashable, Sendable, Codable {
        var ended: Double
        /// How many runs have followed each other without a rest.
        var inARow: Int

        /// Seconds since 1970 at which the next one may begin.
        var next: Double {
            var distance = ProcessingHistory.firstDistance
            for _ in 1..<max(1, min(inARow, 16)) { distance = min(ProcessingHistory.longestDistance, distance * 2) }
            return ended + distance
        }
    }

    package init() {}

    /// A task has ended.
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

    /// Takes what lies in the future, after a clock was set back, for now.
    ///
    /// - Returns: whether there was any of it.
    package mutating func limit(to now: Double) -> Bool {
        let before = self
        filled = filled.map { min($0, now) }
        for (identifier, run) in runs where run.ended > now { runs[identifier]?.ended = now }
        return self != before
    }

    /// Why a task has to wait for now; nil where its runs up to now do not stand against another one.
    func hold(_ identifier: String, now: Double) -> ProcessingPlanner.Held? {
        if let next = runs[identifier]?.next, now < next { return ProcessingPlanner.Held(hold: .distance, until: next) }
        var copy = self
        copy.fill(to: now)
        let missing = Self.shortestRun - copy.balance
        // Less than a second is rounding.
        guard missing > Self.daily / LocalMoment.daySeconds else { return nil }
        return ProcessingPlanner.Held(hold: .budget, until: now + missing / Self.daily * LocalMoment.daySeconds)
    }

    private mutating func fill(to now: Double) {
        let share = max(0, now - (filled ?? now)) / LocalMoment.daySeconds
        balance = min(Self.daily, balance + share * Self.daily)
        filled = now
    }
}
