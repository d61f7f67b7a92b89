/// Whether a receiver still becomes more accurate while one fix is waited for.
///
/// Pure. A receiver that has just been switched on tells coarse places first. One whose places have not become better for some
/// seconds does not tell better ones later, and is not kept on for them.
package struct FixProgress: Hashable, Sendable {
    /// The accuracy of the best fix, in metres, and when it was that much better than the one before.
    private var best: (accuracy: Double, since: Double)?

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
            best = (accuracy, time)
            return false
        }
        return time - best.since >= Self.steady
    }

    package static func == (one: FixProgress, other: FixProgress) -> Bool {
        one.best?.accuracy == other.best?.accuracy && one.best?.since == other.best?.since
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(best?.accuracy)
        hasher.combine(best?.since)
    }
}
