/// Whether a receiver still becomes more accurate while one fix is waited for.
///
/// Pure. A receiver that has just been switched on tells coarse places first. One whose places have not become better for some
/// seconds does not tell better ones later, and is not kept on for them.
package struct FixProgress: Hashable, Sendable {
    private struct Best: Hashable {
        /// Metres.
        var accuracy: Double
        /// The time at which it was better than the one before by ``FixProgress/step``.
        var since: Double
    }

    private var best: Best?

    /// Seconds without progress after which a receiver tells what it can.
    package static let steady = 5.0
    /// The part of its accuracy by which a fix has to be better to be progress.
    static let step = 0.1

    package init() {}

    /// Takes the next fix.
    ///
    /// - Returns: whether better ones are not to be expected.
    package mutating func add(_ accuracy: Double, at time: Double) -> Bool {
        guard let best, accuracy > best.accuracy * (1 - Self.step) else {
            best = Best(accuracy: accuracy, since: time)
            return false
        }
        return time - best.since >= Self.steady
    }
}
