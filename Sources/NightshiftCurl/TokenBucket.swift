import NightshiftAPI

/// A rate as an allowance that grows with time: whoever takes more than is there has to wait until the debt is paid.
package struct TokenBucket: Sendable {
    /// Tokens per second.
    package let rate: Double
    /// The most that can be saved up; makes up for late wake-ups.
    package let burst: Double
    private var tokens: Double = 0
    private var updated: Double

    /// - Parameter now: seconds on any clock that only goes forward, the same for all calls.
    package init(rate: Double, burst: Double, now: Double) {
        self.rate = max(rate, 1)
        self.burst = max(burst, 0)
        updated = now
    }

    /// A bucket for a byte rate: a quarter of a second can be made up for.
    package init(bytesPerSecond: Int64, now: Double) {
        self.init(rate: Double(bytesPerSecond), burst: Double(bytesPerSecond) / 4, now: now)
    }

    /// Bytes of one piece: a tenth of a second's worth, so that a low rate lets the other end not wait for long.
    package var piece: Int { max(Int(saturating: rate / 10), 512) }

    /// Takes `count` tokens, on credit if need be; returns the seconds until the debt is paid, 0 without one.
    @discardableResult
    package mutating func take(_ count: Int, now: Double) -> Double {
        refill(now)
        tokens -= Double(count)
        return tokens < 0 ? -tokens / rate : 0
    }

    /// Seconds until something may be taken again.
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
