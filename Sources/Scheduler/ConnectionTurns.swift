/// Remembers whose turn it is where there is but one connection: of transfers that have failed, or of those that have not.
///
/// Pure. `Lane` tells one lane of ``Admission`` from another.
package struct ConnectionTurns<Lane: Hashable & Sendable>: Hashable, Sendable {
    /// Lanes of one connection that were last used by a transfer that had not failed.
    private var lanes: Set<Lane> = []
    /// The same of the service, where it has but one place.
    package private(set) var isTurnOfFailed = false

    package init() {}

    package func isTurnOfFailed(in lane: Lane) -> Bool { lanes.contains(lane) }

    /// A transfer begins.
    ///
    /// - Parameters:
    ///   - hasFailed: whether its last attempt left nothing that lasts.
    ///   - connections: how many the lane has.
    package mutating func began(hasFailed: Bool, lane: Lane, connections: Int) {
        isTurnOfFailed = !hasFailed
        if !hasFailed, connections == 1 { lanes.insert(lane) } else { lanes.remove(lane) }
    }

    /// Forgets lanes in which nothing waits or runs any more.
    package mutating func keep(_ known: some Sequence<Lane>) {
        if !lanes.isEmpty { lanes.formIntersection(known) }
    }
}
