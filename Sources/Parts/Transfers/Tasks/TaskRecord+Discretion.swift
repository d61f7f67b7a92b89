import NightshiftAPI
package import Scheduler
package import Store

/// The requirements of a task, in the form that the scheduling policy uses.
extension TaskRecord {
    /// The requirement class of the task. Every device state treats tasks of one class alike.
    package var needs: RequirementClass {
        RequirementClass(rules: rules, isLoopback: Loopback.contains(origin: origin))
    }

    /// The conditions that the task waits for, with the time of their next relaxation.
    package var discretion: Discretion {
        get { Discretion(rules.discretion, isForced: isDiscretionForced, relaxesAt: relaxesAt) }
        set {
            rules.discretion = newValue.level
            isDiscretionForced = newValue.isForced
            relaxesAt = newValue.relaxesAt
        }
    }

    private var timeLimit: Discretion.TimeLimit? {
        Discretion.TimeLimit(deadline: deadline, timeout: request.resourceTimeout)
    }

    /// Makes the task discretionary because its app added it in the background. The task stays discretionary until the
    /// app comes to the foreground, or permanently if the app requested that itself.
    package mutating func forceDiscretion() { discretion.force(timeLimit) }

    /// Ends the discretionary wait of the task.
    package mutating func liftDiscretion() { discretion.lift() }

    /// Sets the time at which the requirements are relaxed. The requirements are never relaxed while the resource
    /// timeout does not run.
    package mutating func scheduleLoosening() { discretion.schedule(timeLimit) }

    /// Relaxes the requirements by one step. Returns a description for display.
    mutating func loosen() -> String? { discretion.loosen(timeLimit) }
}
