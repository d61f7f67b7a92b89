package import Scheduler
package import Store

/// What the last decision over starting saw, to explain it. Pure.
package struct LatestLook: Sendable {
    package private(set) var lanes: [LaneID: Admission.Lane] = [:]
    /// How many tasks run, or may run, that wait for a good moment.
    package private(set) var activity = TransferActivity()

    package init() {}

    package mutating func note(_ lanes: [LaneID: Admission.Lane]) { self.lanes = lanes }

    /// - Returns: whether there are any such tasks now and were none, or the other way round.
    package mutating func note(discretionary count: Int) -> Bool {
        defer { activity.discretionary = count }
        return (count > 0) != (activity.discretionary > 0)
    }
}
