/// A record of whose turn it is on a single connection: that of transfers that have failed, or that of transfers that
/// have not failed. This is a pure value.
///
/// `Lane` identifies a per-origin queue (``Admission/Lane``).
package struct ConnectionTurns<Lane: Hashable & Sendable>: Hashable, Sendable {
    /// The per-origin queues whose only connection was last used by a transfer that had not failed.
    private var lanes: Set<Lane> = []
    /// Whether the last transfer had not failed, if the service runs one transfer at a time.
    package private(set) var isTurnOfFailed = false

    package init() {}

    package func isTurnOfFailed(in lane: Lane) -> Bool { lanes.contains(lane) }

    /// Records the start of a transfer.
    ///
    /// - Parameters:
    ///   - hasFailed: whether the last attempt made no lasting progress.
    ///   - connections: the number of connections of the per-origin queue.
    package mutating func began(hasFailed: Bool, lane: Lane, connections: Int) {
        isTurnOfFailed = !hasFailed
        if !hasFailed, connections == 1 { lanes.insert(lane) } else { lanes.remove(lane) }
    }

    /// Removes per-origin queues without waiting or running transfers.
    package mutating func keep(_ known: some Sequence<Lane>) {
        if !lanes.isEmpty { lanes.formIntersection(known) }
    }
}
