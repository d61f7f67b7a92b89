/// How long to wait before trying again.
package enum RetrySchedule {
    /// Seconds: what a hiccup takes.
    static let base = 1.0
    /// Seconds: twelve requests an hour disturb no server, and five minutes are the most that a recovery goes unnoticed. A
    /// network that comes back is noticed at once, by other means.
    static let longest = 300.0
    /// Seconds: full jitter must not turn into a busy loop.
    static let shortest = 0.1
    /// Seconds: a server's wish is obeyed this far; beyond it a mistaken date would lose the transfer.
    static let longestRetryAfter = 3600.0

    /// Seconds until the next attempt: exponential, with full jitter so that many waiting tasks spread.
    ///
    /// - Parameters:
    ///   - attempt: consecutive failures without any progress in between, from 1.
    ///   - random: 0..<1.
    package static func delay(attempt: Int, random: Double) -> Double {
        let doublings = min(max(attempt, 1) - 1, 16)
        let bound = min(base * Double(1 << doublings), longest)
        let share = random.isNaN ? 0 : max(0, min(random, 1))
        return max(shortest, share * bound)
    }

    /// Seconds until an origin that has refused so many tasks is asked for another one, unless it wants less: none after the
    /// first, as that may be the only one that it refuses.
    static func pause(refused count: Int) -> Double {
        count < 2 ? 0 : base * Double(1 << min(count - 2, 16))
    }

    /// Seconds from `now` (since 1970) as the server asked, at least 0 and at most an hour.
    package static func retryAfter(_ field: RetryAfter, now: Double) -> Double {
        let seconds =
            switch field {
            case .seconds(let seconds): seconds
            case .date(let date): date - now
            }
        return seconds.isNaN ? 0 : max(0, min(seconds, longestRetryAfter))
    }
}
