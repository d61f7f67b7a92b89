/// How many apps the device wakes for silent pushes on battery: a token bucket over the wall clock.
package struct WakeBudget: Hashable, Sendable, Codable {
    package private(set) var left = capacity
    /// Seconds since 1970 up to which it was filled.
    private var filled: Double

    /// Wakes that are possible at once, and as many in an hour: six apps with the two an hour that a gateway lets pass.
    package static let capacity = 12.0
    /// Seconds until there is another one.
    package static let interval = 300.0

    package init(now: Double) { filled = now }

    package mutating func fill(to now: Double) {
        // A clock that was set back takes nothing away, and gives nothing.
        if now > filled { left = min(Self.capacity, left + (now - filled) / Self.interval) }
        filled = now
    }

    package var isEmpty: Bool { left < 1 }

    package mutating func take() { left = max(0, left - 1) }

    /// Seconds since 1970 at which there is one.
    package var next: Double { isEmpty ? filled + (1 - left) * Self.interval : filled }
}
