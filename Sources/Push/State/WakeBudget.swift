/// The budget of apps woken for silent pushes on battery: a token bucket over the wall clock.
package struct WakeBudget: Hashable, Sendable, Codable {
    package private(set) var left = capacity
    /// The time up to which the bucket was filled, in seconds since 1970.
    private var filled: Double

    /// The number of wakes possible at once, and in an hour: six apps with two wakes each, the number per hour that a
    /// gateway forwards.
    package static let capacity = 12.0
    /// The seconds until one more wake is possible.
    package static let interval = 300.0

    package init(now: Double) { filled = now }

    package mutating func fill(to now: Double) {
        // A clock that was set back changes nothing.
        if now > filled { left = min(Self.capacity, left + (now - filled) / Self.interval) }
        filled = now
    }

    package var isEmpty: Bool { left < 1 }

    package mutating func take() { left = max(0, left - 1) }

    /// The time at which a wake is possible, in seconds since 1970.
    package var next: Double { isEmpty ? filled + (1 - left) * Self.interval : filled }
}
