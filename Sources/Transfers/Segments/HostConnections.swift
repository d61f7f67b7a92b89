/// How many connections an origin was seen to take, for as long as that holds.
///
/// Kept for each origin beside its `HostBackoff`, told by ``SegmentAction/limitHost(source:connections:until:)``, and asked
/// for the ``SegmentLimits`` of every download in segments that goes there. Times are boot seconds.
package struct HostConnections: Hashable, Sendable {
    private var connections = Int.max
    private var until: Double = 0

    package init() {}

    /// Nil where nothing is known any more.
    package func most(now: Double) -> Int? {
        now < until ? connections : nil
    }

    /// The origin refused one more than these. The fewest it was seen to take count, and the longest time.
    package mutating func limit(to connections: Int, until: Double, now: Double) {
        self.connections = min(max(1, connections), most(now: now) ?? .max)
        self.until = max(until, self.until)
    }
}
