import NightshiftAPI
package import Store

/// Waiting for a good moment, and for how long.
extension TaskRecord {
    /// The task's app added it in the background: it waits for a good moment until the app comes to the front, unless it
    /// does so by its own wish.
    package mutating func forceDiscretion() {
        guard rules.discretion == .none else { return }
        rules.discretion = .full
        isDiscretionForced = true
        scheduleLoosening()
    }

    /// Lets it wait for no good moment any more.
    package mutating func liftDiscretion() {
        rules.discretion = .none
        loosensAt = nil
        isDiscretionForced = false
    }

    /// Sets when it needs less; never, where it has no resource timeout that passes.
    package mutating func scheduleLoosening() {
        loosensAt = nil
        guard let share = rules.discretion.shareLeft, let deadline, let timeout = request.resourceTimeout else {
            return
        }
        loosensAt = deadline - timeout * share
    }

    /// Makes the next best moment good enough; what happened, in a person's words.
    mutating func loosen() -> String? {
        switch rules.discretion {
        case .full:
            rules.discretion = .relaxed
            scheduleLoosening()
            return "Half of its time has passed."
        case .relaxed:
            liftDiscretion()
            return "Nine tenths of its time have passed."
        case .none:
            loosensAt = nil
            return nil
        }
    }
}

extension TransferRules.Discretion {
    /// The share of the resource timeout that is left when a task that waits so begins to wait for less.
    fileprivate var shareLeft: Double? {
        switch self {
        case .none: nil
        case .relaxed: 0.1
        case .full: 0.5
        }
    }
}
