/// The rate limit of silent pushes from one app to one device.
package struct TokenBucket: Sendable, Hashable, Codable {
    package struct Settings: Sendable, Hashable {
        /// The maximum number of pushes in a burst.
        package var capacity: Double
        /// The average time between two pushes over a long time, in seconds.
        package var interval: Double

        package init(capacity: Double, interval: Double) {
            self.capacity = capacity
            self.interval = interval
        }

        /// The limit of two pushes an hour, which may come together.
        package static let standard = Settings(capacity: 2, interval: 1_800)
    }

    /// The result of asking a token bucket for one more push.
    package enum Verdict: Sendable, Hashable {
        case passes
        /// The push must wait for this time, in seconds.
        case waits(Double)
    }

    private var level: Double
    /// The time at which `level` was computed, in seconds of the caller's clock.
    private var since: Double

    package init(_ settings: Settings, now: Double) {
        level = settings.capacity
        since = now
    }

    package mutating func take(_ settings: Settings, now: Double) -> Bool {
        level = self.level(settings, now)
        since = max(since, now)
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    /// Returns the seconds until one more push is allowed.
    package func wait(_ settings: Settings, now: Double) -> Double {
        max(0, (1 - level(settings, now)) * settings.interval)
    }

    package func isFull(_ settings: Settings, now: Double) -> Bool {
        level(settings, now) >= settings.capacity
    }

    private func level(_ settings: Settings, _ now: Double) -> Double {
        // Add a small value, so that rounding does not hold a push at exactly its announced time.
        min(settings.capacity, level + max(0, now - since) / settings.interval + 1e-9)
    }
}
