/// How many silent pushes of one app pass to one device.
package struct TokenBucket: Sendable, Hashable, Codable {
    package struct Settings: Sendable, Hashable {
        /// Pushes that pass at once.
        package var capacity: Double
        /// Seconds for which one push has to wait behind another in the long run.
        package var interval: Double

        package init(capacity: Double, interval: Double) {
            self.capacity = capacity
            self.interval = interval
        }

        /// Two an hour, and both at once.
        package static let standard = Settings(capacity: 2, interval: 1_800)
    }

    /// Whether one more passes.
    package enum Verdict: Sendable, Hashable {
        case passes
        /// Seconds until it would.
        case waits(Double)
    }

    private var level: Double
    /// Seconds, of the clock that the caller uses, at which `level` was so.
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

    /// Seconds until one more passes.
    package func wait(_ settings: Settings, now: Double) -> Double {
        max(0, (1 - level(settings, now)) * settings.interval)
    }

    package func isFull(_ settings: Settings, now: Double) -> Bool {
        level(settings, now) >= settings.capacity
    }

    private func level(_ settings: Settings, _ now: Double) -> Double {
        // Rounding must not keep a push back at the very moment that was named for it.
        min(settings.capacity, level + max(0, now - since) / settings.interval + 1e-9)
    }
}
