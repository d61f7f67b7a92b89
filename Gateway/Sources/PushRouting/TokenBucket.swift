/// The rate limit of silent pushes from one app to one device.
package struct TokenBucket: Sendable, Hashable, Codable {
    package struct Settings: Sendable, Hashable {
        /// The number of pushes that pass at once.
        package var capacity: Double
        /// The average seconds between two pushes over a long time.
        package var interval: Double

        package init(capacity: Double, interval: Double) {
            self.capacity = capacity
            self.interval = interval
        }

        /// Two pushes an hour, which may come together.
        package static let standard = Settings(capacity: 2, interval: 1_800)
    }

    /// The answer to whether one more push passes.
    package enum Verdict: Sendable, Hashable {
        case passes
        /// Seconds until one more push would pass.
        case waits(Double)
    }

    private var level: Double
    /// The time for which `level` holds, in seconds of the caller's clock.
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

    /// Returns the seconds until one more push passes.
    package func wait(_ settings: Settings, now: Double) -> Double {
        max(0, (1 - level(settings, now)) * settings.interval)
    }

    package func isFull(_ settings: Settings, now: Double) -> Bool {
        level(settings, now) >= settings.capacity
    }

    private func level(_ settings: Settings, _ now: Double) -> Double {
        // Rounding must not hold a push at exactly the time that was announced for it.
        min(settings.capacity, level + max(0, now - since) / settings.interval + 1e-9)
    }
}
