import NightshiftAPI

/// A queue of the transfers that share a rate limit. The transfer that has waited longest moves its bytes next.
///
/// The bytes of a turn are deducted from the allowance when the turn is given. The transfer can then use its turn on
/// any thread without further checks.
package struct TurnQueue<Ticket: Equatable & Sendable>: Sendable {
    private var bucket: TokenBucket?
    private var waiting: [Ticket] = []

    /// The minimum pause in seconds between two rounds of turns. The pause limits wake-ups, and is short enough for a
    /// steady rate.
    package static var shortestPause: Double { 0.02 }
    /// The minimum number of bytes in one turn. libcurl delivers pieces of this size.
    package static var pieceBytes: Int { 16_384 }

    package init() {}

    /// Sets the rate in bytes per second. Nil means unlimited and ends all waiting.
    package mutating func setRate(_ bytesPerSecond: Int64?, now: Double) {
        bucket = bytesPerSecond.map { TokenBucket(bytesPerSecond: $0, now: now) }
        if bucket == nil { waiting = [] }
    }

    package var isLimited: Bool { bucket != nil }

    /// Adds an exchange to the end of the queue. Returns the time of the next turns.
    package mutating func wait(_ ticket: Ticket, now: Double) -> Double {
        if isLimited { waiting.append(ticket) }
        return nextTurn(now: now) ?? now
    }

    package mutating func leave(_ ticket: Ticket) {
        waiting.removeAll { $0 == ticket }
    }

    /// Returns the unused bytes of a turn to the allowance.
    package mutating func giveBack(_ bytes: Int, now: Double) {
        _ = bucket?.take(-bytes, now: now)
    }

    /// Gives turns to the exchanges that have waited longest, as far as the allowance allows. All turns have the same
    /// number of bytes.
    package mutating func turns(now: Double) -> (tickets: [Ticket], bytes: Int) {
        guard let rate = bucket?.rate, !waiting.isEmpty else { return ([], 0) }
        // A turn has twice the bytes that one pause allows, so that the rate limit stops the transfers, not the length
        // of a turn.
        let share = rate * Self.shortestPause * 2 / Double(waiting.count)
        let bytes = max(Self.pieceBytes, Int(saturating: min(share, 1e9)))
        var count = 0
        while count < waiting.count, bucket?.delay(now: now) == 0 {
            _ = bucket?.take(bytes, now: now)
            count += 1
        }
        defer { waiting.removeFirst(count) }
        return (Array(waiting.prefix(count)), bytes)
    }

    /// Returns the time at which turns are given next, or nil while no exchange waits.
    package mutating func nextTurn(now: Double) -> Double? {
        guard !waiting.isEmpty, let delay = bucket?.delay(now: now) else { return nil }
        return delay > 0 ? now + max(delay, Self.shortestPause) : now
    }
}
