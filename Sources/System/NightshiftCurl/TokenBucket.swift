import NightshiftAPI

/// A rate limit as an allowance of tokens that grows with time. If more tokens are taken than are available, the next
/// caller waits until the debt is paid.
package struct TokenBucket: Sendable {
    /// The number of tokens that are added per second.
    package private(set) var rate: Double
    /// The maximum number of tokens that can accumulate. It compensates for late wake-ups.
    package private(set) var burst: Double
    private var tokens: Double = 0
    private var updated: Double

    /// Makes an empty bucket.
    ///
    /// - Parameter now: The time in seconds on any monotonic clock, the same clock for all calls.
    package init(rate: Double, burst: Double, now: Double) {
        self.rate = max(rate, 1)
        self.burst = max(burst, 0)
        updated = now
    }

    /// Makes a bucket for a byte rate, with a burst of a quarter of a second.
    package init(bytesPerSecond: Int64, now: Double) {
        self.init(rate: Double(bytesPerSecond), burst: Double(bytesPerSecond) / 4, now: now)
    }

    /// The number of bytes in one piece. A piece lasts a tenth of a second, so that the peer does not wait long at a
    /// low rate.
    package var piece: Int { max(Int(saturating: rate / 10), 512) }

    /// Takes `count` tokens, on credit if necessary. Returns the time in seconds until the debt is paid, or 0 if there
    /// is no debt.
    @discardableResult
    package mutating func take(_ count: Int, now: Double) -> Double {
        refill(now)
        tokens -= Double(count)
        return tokens < 0 ? -tokens / rate : 0
    }

    /// Returns the time in seconds until tokens may be taken again.
    package mutating func delay(now: Double) -> Double {
        refill(now)
        return tokens < 0 ? -tokens / rate : 0
    }

    /// Changes the rate. The burst changes in proportion, and a debt stays.
    mutating func setRate(_ rate: Double, now: Double) {
        refill(now)
        burst *= max(rate, 1) / self.rate
        self.rate = max(rate, 1)
        tokens = min(tokens, burst)
    }

    private mutating func refill(_ now: Double) {
        guard now > updated else { return }
        tokens = min(burst, tokens + (now - updated) * rate)
        updated = now
    }
}
