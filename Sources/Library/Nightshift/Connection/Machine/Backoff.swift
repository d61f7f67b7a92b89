/// The pauses between attempts. The first pause is zero. Then the pauses double, from the shortest to the longest.
struct Backoff: Sendable {
    private let pauses: ClosedRange<Duration>
    private var next: Duration = .zero

    /// - Parameter pauses: The range of the pauses after the first.
    init(_ pauses: ClosedRange<Duration>) { self.pauses = pauses }

    /// Returns the pause before the next attempt.
    mutating func nextPause() -> Duration {
        defer { next = min(max(next * 2, pauses.lowerBound), pauses.upperBound) }
        return next
    }

    mutating func reset() { next = .zero }
}
