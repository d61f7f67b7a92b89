/// The rates and times of a transfer that yields to other traffic, for display.
package struct YieldState: Hashable, Sendable {
    /// The rate of all yielding transfers on the route, and the largest one of the last minute, in bytes per second.
    package var rate: Double
    package var capacity: Double
    /// The round-trip time in seconds; nil if it cannot be measured.
    package var roundTrip: Double?
    /// The round-trip time that the transfers keep, in seconds; nil if it cannot be measured.
    package var target: Double?
    /// Whether other traffic keeps the transfers below the largest rate.
    package var isYielding: Bool

    package init(rate: Double, capacity: Double, roundTrip: Double?, target: Double?, isYielding: Bool) {
        self.rate = rate
        self.capacity = capacity
        self.roundTrip = roundTrip
        self.target = target
        self.isYielding = isYielding
    }
}
