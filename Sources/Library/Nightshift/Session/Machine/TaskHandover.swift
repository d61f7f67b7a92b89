import NightshiftAPI

/// The state of a task, as the app wants it, and the service's copy of the task. It decides which request makes the
/// copy match.
///
/// At most one thread at a time sends requests about a task (``TaskCore/turn``). The app may change the task meanwhile.
struct TaskHandover: Sendable {
    /// The service's copy of a task.
    ///
    /// | State | Exits |
    /// |---|---|
    /// | `absent` | `requested` when this process is about to send the task, `known` if the service lists it |
    /// | `requested` | `known` |
    /// | `known` | none |
    enum Copy: Equatable, Sendable {
        case absent
        /// The state in which the service may have the task although no response has confirmed it.
        case requested
        /// - isHeld: Whether the service has suspended the task, according to its last response. Nil if this is unknown
        ///   because a response is missing.
        case known(TaskID, isHeld: Bool?)
    }

    /// A request that makes the service's copy match.
    enum Request: Equatable, Sendable {
        case handOver(isHeld: Bool)
        case setHeld(TaskID, Bool)
    }

    var control = TaskControl()
    private(set) var copy = Copy.absent
    /// The app's changes that the service has not received yet. They were made after the service may have received the
    /// task.
    private(set) var unsent: TaskChange?

    /// Creates the state of a task that only this process has.
    init() {}

    /// Creates the state of a task that the service has.
    init(_ id: TaskID, isHeld: Bool) {
        control = TaskControl(isSuspended: isHeld)
        copy = .known(id, isHeld: isHeld)
    }

    /// The service's id of the task. Nil while only this process is known to have the task.
    var id: TaskID? {
        if case .known(let id, _) = copy { return id }
        return nil
    }

    // MARK: - Requests

    /// The next request about the task. Nil if the service does not need one.
    var nextRequest: Request? {
        guard control.isOpen else { return nil }
        guard case .known(let id, let isHeld) = copy else { return .handOver(isHeld: control.isSuspended) }
        return isHeld == control.isSuspended ? nil : .setHeld(id, control.isSuspended)
    }

    /// Begins to send the task to the service. Must be called before the task is described, so that later changes by
    /// the app are sent separately.
    ///
    /// - Returns: Whether the service may already have the task from an earlier request. In that case, the task has the
    ///   state that was described then.
    mutating func beginHandover() -> Bool {
        guard copy == .absent else { return true }
        copy = .requested
        return false
    }

    /// Records that the service has the task.
    ///
    /// - Parameter isHeld: Whether the service has suspended the task, or nil if this is unknown.
    mutating func handedOver(as id: TaskID, isHeld: Bool?) { copy = .known(id, isHeld: isHeld) }

    /// Records the request to suspend or resume the service's copy. If no answer arrives, the service may have received
    /// the request nevertheless.
    mutating func setHeld(_ isHeld: Bool?) {
        if let id { copy = .known(id, isHeld: isHeld) }
    }

    /// Records that the service has the task under this id, according to its list or a message.
    mutating func learn(_ id: TaskID) {
        if case .known(_, let isHeld) = copy {
            copy = .known(id, isHeld: isHeld)
        } else {
            copy = .known(id, isHeld: nil)
        }
    }

    // MARK: - Changes of a task that was sent

    /// Records a change by the app. The task itself carries the change if it is sent later.
    mutating func change(_ change: TaskChange) {
        guard copy != .absent else { return }
        unsent = TaskChange(
            priority: change.priority ?? unsent?.priority, description: change.description ?? unsent?.description)
    }

    /// The unsent changes of a task that the service has.
    var nextChange: (id: TaskID, change: TaskChange)? {
        guard control.isOpen, let id, let unsent else { return nil }
        return (id, unsent)
    }

    /// Records that the service has received a change. The app may have changed the task again meanwhile.
    mutating func sent(_ change: TaskChange) {
        if unsent == change { unsent = nil }
    }
}
