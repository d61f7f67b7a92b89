package import NightshiftAPI
package import Store

/// The error for an event that the task's state does not allow.
package struct IllegalTransition: Error, Hashable {
    package var state: TaskState
    package var event: TaskEvent

    package init(state: TaskState, event: TaskEvent) {
        self.state = state
        self.event = event
    }
}

extension TaskEvent {
    /// The name of the event without its values, which may be secret.
    var name: String { String(String(describing: self).prefix { $0.isLetter }) }
}

extension TaskRecord {
    /// Returns whether the current state allows an event.
    ///
    /// These are the states and their legal exits:
    ///
    /// - `suspended`: `resume`, `cancel`, `answer`, `retarget`.
    /// - `waiting` (and running, which is not stored): `suspend`, `begin`, `setAside`, `accept`, `checkpoint`,
    ///   `interrupt`, `hold`, `finish`, `fail`, `cancel`, `ask`, `answer`, `loosen`, `retarget`, `retry`, `keep`,
    ///   `sendOn`, `sendAgain`.
    /// - `finishing`: `setAside`, `publish`, `complete`, `fetchAgain`, `hold` (no space for the last step), `interrupt`
    ///   (after a crash before everything was on disk), `fail`.
    /// - `failed`: `retarget` and `retry`, unless all its bytes are stored.
    /// - `completed`, `cancelled`: no exit.
    package func allows(_ event: TaskEvent) -> Bool {
        switch event {
        case .resume: state == .suspended
        case .suspend, .begin, .accept, .checkpoint, .finish, .ask, .loosen, .keep, .sendOn, .sendAgain:
            state == .waiting
        case .retry: state == .waiting || state == .failed && file == nil
        case .publish, .complete, .fetchAgain: state == .finishing
        case .setAside, .interrupt, .hold, .fail: state == .waiting || state == .finishing
        case .cancel, .answer: state == .waiting || state == .suspended
        case .retarget: state == .waiting || state == .suspended || state == .failed && file == nil
        }
    }

    /// Applies an event to the task if the event is allowed. This is the only function with which a running service
    /// changes a task, and it uses ``apply(_:now:)``.
    ///
    /// An illegal event is a bug in the service. Debug builds stop at it. Release builds fail this one task, which must
    /// then be committed like any other.
    ///
    /// - Parameter onFault: a function that logs an illegal event and ends the task's work.
    mutating func transition(
        _ event: TaskEvent, now: ClockReading, onFault: (IllegalTransition) -> Void
    ) -> [JournalEntry] {
        do throws(IllegalTransition) {
            return try apply(event, now: now)
        } catch {
            onFault(error)
            assertionFailure(
                "Task \(id) received the event '\(error.event.name)' in the state \(error.state.rawValue).")
            return failInternally(error, now: now)
        }
    }

    /// Ends a task after an illegal event. Its bytes are kept, so that `retarget` can continue with them.
    ///
    /// - Returns: the journal entries; empty if the task had already ended, in which case nothing changes.
    package mutating func failInternally(_ fault: IllegalTransition, now: ClockReading) -> [JournalEntry] {
        guard !state.isTerminal else { return [] }
        let failure = TransferFailure(
            .internalFault,
            "Internal error in Nightshift: the event '\(fault.event.name)' is not allowed in the state "
                + "\(fault.state.rawValue)."
        )
        error = failure
        lastError = failure
        relaxesAt = nil
        end(.failed, now)
        return [entry(.failed, now, error: failure)]
    }
}
