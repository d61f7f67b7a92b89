/// The pauses between attempts.
package enum RetrySchedule {
    /// Seconds of the first delay: a brief outage is over by then.
    static let base = 1.0
    /// Seconds of the longest delay. Twelve requests an hour burden no server, and a recovery is noticed within five
    /// minutes. The return of the network is noticed at once, by other means.
    static let longest = 300.0
    /// Seconds of the shortest delay, so that full jitter cannot cause a busy loop.
    static let shortest = 0.1
    /// The longest `Retry-After` that is obeyed, in seconds. Without this limit, a server's wrong date could make the
    /// transfer fail by its resource timeout.
    static let longestRetryAfter = 3600.0

    /// Seconds until the next attempt: exponential, with full jitter so that the attempts of many waiting tasks are
    /// spread.
    ///
    /// - Parameters:
    ///   - attempt: consecutive failures without progress in between, from 1.
    ///   - random: 0..<1.
    package static func delay(attempt: Int, random: Double) -> Double {
        let doublings = min(max(attempt, 1) - 1, 16)
        let bound = min(base * Double(1 << doublings), longest)
        let share = random.isNaN ? 0 : max(0, min(random, 1))
        return max(shortest, share * bound)
    }

    /// Seconds until an origin that has refused `count` tasks is tried with another task, unless it asked for less.
    /// After the first refusal this is 0, because the origin may refuse only that task.
    static func pause(refused count: Int) -> Double {
        count < 2 ? 0 : base * Double(1 << min(count - 2, 16))
    }

    /// Seconds from `now` (since 1970) that the server asked for, at least 0 and at most an hour.
    package static func retryAfter(_ field: RetryAfter, now: Double) -> Double {
        let seconds =
            switch field {
            case .seconds(let seconds): seconds
            case .date(let date): date - now
            }
        return seconds.isNaN ? 0 : max(0, min(seconds, longestRetryAfter))
    }
}
