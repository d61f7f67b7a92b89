/// A record of whose turn it is on a single connection: transfers that have failed, or transfers that have not.
///
/// Pure. `Lane` identifies a lane of ``Admission``.
package struct ConnectionTurns<Lane: Hashable & Sendable>: Hashable, Sendable {
    /// Lanes whose only connection was last used by a transfer that had not failed.
    private var lanes: Set<Lane> = []
    /// Whether the last transfer had not failed, if the service runs one transfer at a time.
    package private(set) var isTurnOfFailed = false

    package init() {}

    package func isTurnOfFailed(in lane: Lane) -> Bool { lanes.contains(lane) }

    /// Records the start of a transfer.
    ///
    /// - Parameters:
    ///   - hasFailed: whether the last attempt made no lasting progress.
    ///   - connections: the number of connections of the lane.
    package mutating func began(hasFailed: Bool, lane: Lane, connections: Int) {
        isTurnOfFailed = !hasFailed
        if !hasFailed, connections == 1 { lanes.insert(lane) } else { lanes.remove(lane) }
    }

    /// Removes lanes in which nothing waits or runs.
    package mutating func keep(_ known: some Sequence<Lane>) {
        if !lanes.isEmpty { lanes.formIntersection(known) }
    }
}
