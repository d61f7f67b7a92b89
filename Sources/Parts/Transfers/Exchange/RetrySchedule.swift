/// The pauses between attempts.
package enum RetrySchedule {
    /// The first delay in seconds. A brief outage ends within this time.
    static let base = 1.0
    /// The longest delay in seconds. Twelve requests an hour do not burden a server, and the service notices a recovery
    /// within five minutes. It notices the return of the network at once, without a retry.
    static let longest = 300.0
    /// The shortest delay in seconds. Without it, full jitter could cause a busy loop.
    static let shortest = 0.1
    /// The longest `Retry-After` that is obeyed, in seconds. Without this limit, a server's wrong date could make the
    /// transfer fail by its resource timeout.
    static let longestRetryAfter = 3600.0

    /// Returns the seconds until the next attempt. They grow exponentially, with full jitter so that the attempts of
    /// many waiting tasks are spread.
    ///
    /// - Parameters:
    ///   - attempt: the number of consecutive failures without progress, from 1.
    ///   - random: 0..<1.
    package static func delay(attempt: Int, random: Double) -> Double {
        let doublings = min(max(attempt, 1) - 1, 16)
        let bound = min(base * Double(1 << doublings), longest)
        let share = random.isNaN ? 0 : max(0, min(random, 1))
        return max(shortest, share * bound)
    }

    /// Returns the seconds until an origin that has refused `count` tasks is tried with another task, unless the origin
    /// asked for a shorter pause. After the first refusal the result is 0, because the origin may refuse only that
    /// task.
    static func pause(refused count: Int) -> Double {
        count < 2 ? 0 : base * Double(1 << min(count - 2, 16))
    }

    /// Returns the seconds from `now` (since 1970) that the server asked for, at least 0 and at most an hour.
    package static func retryAfter(_ field: RetryAfter, now: Double) -> Double {
        let seconds =
            switch field {
            case .seconds(let seconds): seconds
            case .date(let date): date - now
            }
        return seconds.isNaN ? 0 : max(0, min(seconds, longestRetryAfter))
    }
}
