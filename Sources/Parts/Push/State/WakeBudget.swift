/// The budget for waking apps for silent pushes on battery: a token bucket over the wall clock.
package struct WakeBudget: Hashable, Sendable, Codable {
    package private(set) var left = capacity
    /// The time at which the bucket was last filled, in seconds since 1970.
    private var filled: Double

    /// The maximum number of wakes at once, which is also the number per hour. It allows six apps with two wakes each,
    /// the number per hour that a gateway forwards to one app.
    package static let capacity = 12.0
    /// The number of seconds after which one more wake is possible.
    package static let interval = 300.0

    package init(now: Double) { filled = now }

    package mutating func fill(to now: Double) {
        // The budget does not change when the clock is set back.
        if now > filled { left = min(Self.capacity, left + (now - filled) / Self.interval) }
        filled = now
    }

    package var isEmpty: Bool { left < 1 }

    package mutating func take() { left = max(0, left - 1) }

    /// The time at which the next wake is possible, in seconds since 1970.
    package var next: Double { isEmpty ? filled + (1 - left) * Self.interval : filled }
}
