import NightshiftAPI

/// A rate limit as an allowance that grows with time. If more is taken than is available, the next taker waits until
/// the debt is paid.
package struct TokenBucket: Sendable {
    /// Tokens per second.
    package let rate: Double
    /// The maximum allowance that can accumulate. It compensates for late wake-ups.
    package let burst: Double
    private var tokens: Double = 0
    private var updated: Double

    /// - Parameter now: seconds on any monotonic clock, the same for all calls.
    package init(rate: Double, burst: Double, now: Double) {
        self.rate = max(rate, 1)
        self.burst = max(burst, 0)
        updated = now
    }

    /// A bucket for a byte rate, with a burst of a quarter of a second.
    package init(bytesPerSecond: Int64, now: Double) {
        self.init(rate: Double(bytesPerSecond), burst: Double(bytesPerSecond) / 4, now: now)
    }

    /// The number of bytes in one piece: a tenth of a second's worth, so that the peer does not wait long at a low
    /// rate.
    package var piece: Int { max(Int(saturating: rate / 10), 512) }

    /// Takes `count` tokens, on credit if necessary. Returns the seconds until the debt is paid; 0 without debt.
    @discardableResult
    package mutating func take(_ count: Int, now: Double) -> Double {
        refill(now)
        tokens -= Double(count)
        return tokens < 0 ? -tokens / rate : 0
    }

    /// The seconds until tokens may be taken again.
    package mutating func delay(now: Double) -> Double {
        refill(now)
        return tokens < 0 ? -tokens / rate : 0
    }

    private mutating func refill(_ now: Double) {
        guard now > updated else { return }
        tokens = min(burst, tokens + (now - updated) * rate)
        updated = now
    }
}
