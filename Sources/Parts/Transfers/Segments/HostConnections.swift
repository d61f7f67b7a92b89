/// The facts about the number of connections to an origin, while they are valid: how many it accepts, and how many were
/// useful for a download.
///
/// The service stores this value for each origin next to its `HostBackoff`. The ``SegmentLimits`` of every split download
/// to that origin use it. Times are boot seconds.
package struct HostConnections: Hashable, Sendable {
    private struct Fact: Hashable, Sendable {
        var count: Int
        var until: Double
    }

    private var accepted: Fact?
    private var used: Fact?

    package init() {}

    /// Whether no fact is valid.
    package func isOutdated(now: Double) -> Bool { most(now: now) == nil && useful(now: now) == nil }

    /// Returns the number of connections that the origin is known to accept; nil if the number is unknown or outdated.
    package func most(now: Double) -> Int? { Self.count(accepted, now) }

    /// Returns the number of connections that raised the rate of an earlier download; nil if the number is unknown or
    /// outdated.
    package func useful(now: Double) -> Int? { Self.count(used, now) }

    private static func count(_ fact: Fact?, _ now: Double) -> Int? {
        fact.flatMap { now < $0.until ? $0.count : nil }
    }

    /// Records that the origin refused more than this number of connections. If there are several records, the smallest
    /// number and the longest time apply.
    package mutating func limit(to connections: Int, until: Double, now: Double) {
        accepted = Fact(
            count: min(max(1, connections), most(now: now) ?? .max), until: max(until, accepted?.until ?? 0))
    }

    /// Records the number of connections that a download has found to be useful.
    package mutating func found(useful connections: Int, until: Double) {
        used = Fact(count: connections, until: until)
    }
}
