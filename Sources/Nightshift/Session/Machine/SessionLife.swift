/// The life of a background session in this process.
///
/// | State | Exits |
/// |---|---|
/// | `open` | `closing` when the app invalidates it, `ending` when the service refuses it, `ended` when the process lets go of it |
/// | `closing` | `closing` when it is cancelled as well or has settled, `ending` when its last task has ended, `ended` as above |
/// | `ending` | `ended` when the delegate has its last message |
/// | `ended` | none |
enum SessionLife: Equatable, Sendable {
    case open
    /// The app has invalidated the session, which ends after its last task.
    ///
    /// - isCancelled: whether the app has cancelled its tasks, too.
    /// - isSettled: whether the session knows the tasks of earlier processes, or has waited for them long enough.
    case closing(isCancelled: Bool, isSettled: Bool)
    /// The delegate is given its last message. It gets no other.
    case ending
    case ended

    /// Whether the session takes part in nothing more than its own end.
    var isOver: Bool { self == .ending || self == .ended }

    /// Whether the delegate may be called.
    ///
    /// - Parameter isLast: whether it is for the last message.
    func admitsCall(isLast: Bool) -> Bool {
        switch self {
        case .open, .closing: !isLast
        case .ending: isLast
        case .ended: false
        }
    }

    var isCancelled: Bool {
        if case .closing(isCancelled: true, _) = self { return true }
        return false
    }

    /// Whether the session ends as soon as it has no task.
    var mayEnd: Bool {
        if case .closing(_, isSettled: true) = self { return true }
        return false
    }

    /// The app invalidates the session, once or again.
    mutating func close(cancelling: Bool) {
        switch self {
        case .open: self = .closing(isCancelled: cancelling, isSettled: false)
        case .closing(let isCancelled, let isSettled):
            self = .closing(isCancelled: isCancelled || cancelling, isSettled: isSettled)
        case .ending, .ended: break
        }
    }

    mutating func settle() {
        if case .closing(let isCancelled, _) = self { self = .closing(isCancelled: isCancelled, isSettled: true) }
    }

    /// - Returns: false for a session that is over.
    mutating func beginEnding() -> Bool {
        if isOver { return false }
        self = .ending
        return true
    }

    mutating func end() { self = .ended }
}
