package import Scheduler
package import Store

/// The inputs of the last scheduling decision, which the service uses to explain that decision. This is a pure value.
package struct LastSchedulingPass: Sendable {
    package private(set) var lanes: [LaneID: Admission.Lane] = [:]
    /// The activity of discretionary tasks that run or may run.
    package private(set) var activity = TransferActivity()

    package init() {}

    package mutating func note(_ lanes: [LaneID: Admission.Lane]) { self.lanes = lanes }

    /// Records the number of discretionary tasks that run or may run.
    ///
    /// - Returns: whether the number changed from zero to non-zero, or back.
    package mutating func note(discretionary count: Int) -> Bool {
        defer { activity.discretionary = count }
        return (count > 0) != (activity.discretionary > 0)
    }
}
