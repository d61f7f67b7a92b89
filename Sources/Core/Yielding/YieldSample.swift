/// A measurement of the connections of one route since the last one.
package struct YieldSample: Hashable, Sendable {
    /// The round-trip time in seconds: the smallest one of the connections on which segments arrived; nil if none
    /// arrived.
    package var roundTrip: Double?
    /// The number of bytes that arrived on all connections together.
    package var bytes: Int64
    /// The size of the largest segment, in bytes.
    package var segment: Int
    /// The number of connections on which bytes arrived.
    package var connections = 1
    /// Whether the round-trip time is the kernel's mean.
    package var isMean = true

    package init(roundTrip: Double?, bytes: Int64, segment: Int = 1_448) {
        self.roundTrip = roundTrip
        self.bytes = bytes
        self.segment = segment
    }
}

/// The limits of a ``YieldController``.
package struct YieldSettings: Hashable, Sendable {
    /// The smallest target for the delay that a route's own transfers add, in seconds.
    package var leastTarget = 0.008
    /// The largest target in seconds.
    package var greatestTarget = 0.040
    /// Whether the target falls if the route gets less than it had alone, so that senders are noticed that keep queues
    /// short.
    package var lowersTarget = true
    /// The share of the line's rate that transfers get at least, after ``patience`` seconds at the smallest window.
    package var guaranteedShare = 0.01
    /// The time in seconds at the smallest window after which ``guaranteedShare`` applies.
    package var patience = 30.0

    package init() {}
}
