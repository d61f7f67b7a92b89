/// The number of connections that an origin is known to accept, while that knowledge is valid.
///
/// The service stores this value for each origin next to its `HostBackoff`.
/// ``SegmentAction/limitHost(source:connections:until:)`` sets it, and the ``SegmentLimits`` of every split download to
/// that origin use it. Times are boot seconds.
package struct HostConnections: Hashable, Sendable {
    private var connections = Int.max
    private var until: Double = 0

    package init() {}

    /// Returns the number of connections that the origin is known to accept; nil if the number is unknown or outdated.
    package func most(now: Double) -> Int? {
        now < until ? connections : nil
    }

    /// Records that the origin refused more than this number of connections. If there are several records, the smallest
    /// number and the longest time apply.
    package mutating func limit(to connections: Int, until: Double, now: Double) {
        self.connections = min(max(1, connections), most(now: now) ?? .max)
        self.until = max(until, self.until)
    }
}
