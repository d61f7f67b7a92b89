import NightshiftAPI

/// A queue of the transfers that share a rate limit: the longest waiting moves its bytes next.
///
/// A turn is paid for when it is given, so that whoever has one needs to ask nobody, on whatever thread.
package struct TurnQueue<Ticket: Equatable & Sendable>: Sendable {
    private var bucket: TokenBucket?
    private var waiting: [Ticket] = []

    /// Shortest pause between two rounds of turns, in seconds: a bound for wake-ups, and short enough to look steady.
    package static var shortestPause: Double { 0.02 }
    /// The fewest bytes of one turn: one piece as libcurl hands them over.
    package static var pieceBytes: Int { 16_384 }

    package init() {}

    /// Bytes per second; nil is unlimited, and then nobody waits any more.
    package mutating func setRate(_ bytesPerSecond: Int64?, now: Double) {
        bucket = bytesPerSecond.map { TokenBucket(bytesPerSecond: $0, now: now) }
        if bucket == nil { waiting = [] }
    }

    package var isLimited: Bool { bucket != nil }

    /// Takes the last place in the queue; returns when the next turns are given.
    package mutating func wait(_ ticket: Ticket, now: Double) -> Double {
        if isLimited { waiting.append(ticket) }
        return nextTurn(now: now) ?? now
    }

    package mutating func leave(_ ticket: Ticket) {
        waiting.removeAll { $0 == ticket }
    }

    /// Bytes of a turn that nobody will use.
    package mutating func giveBack(_ bytes: Int, now: Double) {
        _ = bucket?.take(-bytes, now: now)
    }

    /// Turns for the longest waiting, each of so many bytes, as far as the allowance reaches.
    package mutating func turns(now: Double) -> (tickets: [Ticket], bytes: Int) {
        guard let rate = bucket?.rate, !waiting.isEmpty else { return ([], 0) }
        // Twice what a round of pauses allows, so that it is the limit that stops them and not the length of a turn.
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

    /// When turns are given next; nil while nobody waits.
    package mutating func nextTurn(now: Double) -> Double? {
        guard !waiting.isEmpty, let delay = bucket?.delay(now: now) else { return nil }
        return delay > 0 ? now + max(delay, Self.shortestPause) : now
    }
}
