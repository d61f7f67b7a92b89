/// A decision on whether a receiver becomes more accurate if it stays on for a requested fix. It is a pure value.
///
/// A receiver first reports inaccurate fixes after it is switched on. If the fixes have not improved for some seconds,
/// they will not improve later either, so the receiver is switched off.
package struct FixProgress: Hashable, Sendable {
    private struct Best: Hashable {
        /// The best accuracy so far, in metres.
        var accuracy: Double
        /// The time of the last fix that was better than the previous best by ``FixProgress/step``.
        var since: Double
    }

    private var best: Best?

    /// The number of seconds without progress after which the best fix is accepted.
    package static let steady = 5.0
    /// The relative improvement in accuracy that counts as progress.
    static let step = 0.1

    package init() {}

    /// Adds the next fix.
    ///
    /// - Returns: Whether the receiver is expected to report no better fixes.
    package mutating func add(_ accuracy: Double, at time: Double) -> Bool {
        guard let best, accuracy > best.accuracy * (1 - Self.step) else {
            best = Best(accuracy: accuracy, since: time)
            return false
        }
        return time - best.since >= Self.steady
    }
}
