import NightshiftAPI
package import Scheduler
package import Store

/// What a task waits for at any moment, as the policy sees it.
extension TaskRecord {
    /// Tasks of equal needs are treated alike by every moment.
    package var needs: HeldClass { HeldClass(rules: rules, isLoopback: Loopback.contains(origin: origin)) }

    /// How good a moment it waits for, and for how long.
    package var discretion: Discretion {
        get { Discretion(rules.discretion, isForced: isDiscretionForced, loosensAt: loosensAt) }
        set {
            rules.discretion = newValue.level
            isDiscretionForced = newValue.isForced
            loosensAt = newValue.loosensAt
        }
    }

    private var timeLimit: Discretion.TimeLimit? {
        Discretion.TimeLimit(deadline: deadline, timeout: request.resourceTimeout)
    }

    /// The task's app added it in the background: it waits for a good moment until the app comes to the front, unless it
    /// does so by its own wish.
    package mutating func forceDiscretion() { discretion.force(timeLimit) }

    /// Lets it wait for no good moment any more.
    package mutating func liftDiscretion() { discretion.lift() }

    /// Sets when it needs less; never, where it has no resource timeout that passes.
    package mutating func scheduleLoosening() { discretion.schedule(timeLimit) }

    /// Makes the next best moment good enough; what happened, in a person's words.
    mutating func loosen() -> String? { discretion.loosen(timeLimit) }
}
