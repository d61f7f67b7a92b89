/// A timeout for waiting for other processes, divided into pauses with checks between them. Those processes need CPU
/// time to finish.
///
/// The timeout adds up the planned pauses and does not read the clock. After the machine has slept or was busy for
/// long, a clock would report a timeout although the other processes have had no time to run. Every pause is followed
/// by a check.
struct CheckTimeout {
    private var left: Duration
    private var next: Duration
    private let longest: Duration

    /// Creates a timeout.
    ///
    /// - Parameters:
    ///   - total: the sum of all pauses.
    ///   - first: the first pause. Each later pause is twice the one before it.
    ///   - longest: the longest pause.
    init(_ total: Duration, first: Duration, longest: Duration) {
        left = total
        next = min(first, longest)
        self.longest = longest
    }

    /// Returns the pause before the next check; nil if the last check was the final one.
    mutating func pause() -> Duration? {
        guard left > .zero else { return nil }
        let pause = min(next, left)
        left -= pause
        next = min(next * 2, longest)
        return pause
    }
}
