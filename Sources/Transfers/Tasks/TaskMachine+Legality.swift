package import NightshiftAPI
package import Store

/// The event is not possible in the task's present state.
package struct IllegalTransition: Error, Hashable {
    package var state: TaskState
    package var event: TaskEvent

    package init(state: TaskState, event: TaskEvent) {
        self.state = state
        self.event = event
    }
}

extension TaskEvent {
    /// Which event it is, without its values: those may hold secrets.
    var name: String { String(String(describing: self).prefix { $0.isLetter }) }
}

extension TaskRecord {
    /// Whether an event is possible in the present state.
    ///
    /// The states and their legal exits:
    ///
    /// - `suspended`: `resume`, `cancel`, `answer`, `retarget`.
    /// - `waiting` (and running, which is not stored): `suspend`, `begin`, `setAside`, `accept`, `checkpoint`, `interrupt`, `hold`,
    ///   `finish`, `fail`, `cancel`, `ask`, `answer`, `loosen`, `retarget`, `retry`, `keep`, `sendOn`, `sendAgain`.
    /// - `finishing`: `setAside`, `publish`, `complete`, `fetchAgain`, `hold` (no space for the last step), `interrupt` (a crash
    ///   came before everything was on disk), `fail`.
    /// - `failed`: `retarget`, unless all its bytes are kept.
    /// - `completed`, `cancelled`: none.
    package func allows(_ event: TaskEvent) -> Bool {
        switch event {
        case .resume: state == .suspended
        case .suspend, .begin, .accept, .checkpoint, .finish, .ask, .loosen, .retry, .keep, .sendOn, .sendAgain:
            state == .waiting
        case .publish, .complete, .fetchAgain: state == .finishing
        case .setAside, .interrupt, .hold, .fail: state == .waiting || state == .finishing
        case .cancel, .answer: state == .waiting || state == .suspended
        case .retarget: state == .waiting || state == .suspended || state == .failed && file == nil
        }
    }

    /// The one way in which a running service changes a task: ``apply(_:now:)`` where the event is possible.
    ///
    /// An event that is not possible is a mistake of the service's. Debug builds stop there. Others fail that one task: it is to be
    /// written down as any other.
    ///
    /// - Parameter onFault: hears of such a mistake, to log it and to end what runs for the task.
    mutating func transition(
        _ event: TaskEvent, now: ClockReading, onFault: (IllegalTransition) -> Void
    ) -> [JournalEntry] {
        do throws(IllegalTransition) {
            return try apply(event, now: now)
        } catch {
            onFault(error)
            assertionFailure("Task \(id) met '\(error.event.name)' where it was \(error.state.rawValue).")
            return failInternally(error, now: now)
        }
    }

    /// Ends a task that has met an event which its state has no exit for. Its bytes are kept, so that `retarget` can go on with
    /// them.
    ///
    /// - Returns: the journal entries that belong to it; none where the task has ended already, which nothing changes.
    package mutating func failInternally(_ fault: IllegalTransition, now: ClockReading) -> [JournalEntry] {
        guard !state.isTerminal else { return [] }
        let failure = TransferFailure(
            .internalFault,
            "Nightshift made a mistake: '\(fault.event.name)' came where the task was \(fault.state.rawValue)."
        )
        error = failure
        lastError = failure
        loosensAt = nil
        end(.failed, now)
        return [entry(.failed, now, error: failure)]
    }
}
