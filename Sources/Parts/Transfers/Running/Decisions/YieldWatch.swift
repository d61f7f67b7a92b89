import NightshiftAPI

/// Decides when the journal says that a transfer yields to other traffic, and that it no longer does. This is a pure
/// value.
///
/// Other traffic often comes for a moment, such as a page that loads. So the journal gets only changes that last, and not
/// more than one beginning in ``pause``.
struct YieldWatch {
    /// The number of seconds after which a change gets an entry.
    static let delay: Double = 5
    /// The minimum number of seconds from one beginning to the next.
    static let pause: Double = 60

    /// Whether the last entry said that the transfer yields.
    private(set) var isNoted = false
    private var notedAt = -Double.infinity
    /// The time since which the transfer has differed from the last entry.
    private var since: Double?

    /// Reads how the transfer yields now, in boot seconds.
    ///
    /// - Returns: the entry for the journal; nil if nothing has changed.
    mutating func read(_ status: YieldStatus?, at time: Double) -> (decision: Decision, detail: String?)? {
        guard status?.isYielding ?? false != isNoted else {
            since = nil
            return nil
        }
        let begin = since ?? time
        since = begin
        guard time - begin >= Self.delay, isNoted || time - notedAt >= Self.pause else { return nil }
        since = nil
        isNoted.toggle()
        if isNoted { notedAt = time }
        return (isNoted ? .yielded : .yieldEnded, status.map { "\($0.numbers)." })
    }
}
