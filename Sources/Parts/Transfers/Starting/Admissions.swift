import Scheduler
import Store

/// The state that the scheduler keeps from one scheduling pass to the next. This is a pure value.
struct Admissions {
    var loop = PumpLoop()
    /// The alternating turns of tasks that have failed and tasks that have not, in per-origin queues with only one
    /// connection.
    var turns = ConnectionTurns<LaneID>()
    /// The requirement classes that the device state blocked at the last decision, with the start of each block.
    var heldClasses = RequirementClasses()
    var look = LastSchedulingPass()
    /// The history of slow transfers that gave up their connection slots.
    var yields = YieldHistory()
    /// The crash suspects, which are retried in isolation before anything else starts.
    var trials = StartTrials()
    /// The boot second until which transfers do not start, because the store cannot be written.
    var pausedUntil: Double?
}
