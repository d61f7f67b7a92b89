/// How long others are waited for who need the processor themselves, in pauses between looks at them.
///
/// The pauses count as they were planned, not the clock: where the machine stood still, or others had it for long, the clock says
/// that the time is over, and those who are waited for have had nothing of it. A look follows every pause.
struct Patience {
    private var left: Duration
    private var next: Duration
    private let longest: Duration

    /// - Parameters:
    ///   - total: of all pauses together.
    ///   - first: the first pause; each is twice the one before it.
    ///   - longest: no pause is longer.
    init(_ total: Duration, first: Duration, longest: Duration) {
        left = total
        next = min(first, longest)
        self.longest = longest
    }

    /// What to wait before the next look; nil where the look before was the last.
    mutating func pause() -> Duration? {
        guard left > .zero else { return nil }
        let pause = min(next, left)
        left -= pause
        next = min(next * 2, longest)
        return pause
    }
}
