/// The life of a background session in this process.
///
/// | State | Exits |
/// |---|---|
/// | `open` | `closing` on invalidation by the app, `ending` on refusal by the service, `ended` when abandoned |
/// | `closing` | `closing` when also cancelled or when settled, `ending` after its last task, `ended` as above |
/// | `ending` | `ended` when the delegate has received its last message |
/// | `ended` | none |
enum SessionLife: Equatable, Sendable {
    case open
    /// The state after the app has invalidated the session. The session ends after its last task.
    ///
    /// - isCancelled: Whether the app has also cancelled the session's tasks.
    /// - isSettled: Whether the session knows the tasks of earlier processes, or has waited long enough for them.
    case closing(isCancelled: Bool, isSettled: Bool)
    /// The state in which the delegate receives its last message. It receives no other message.
    case ending
    case ended

    /// Whether the session is ending or has ended.
    var isOver: Bool { self == .ending || self == .ended }

    /// Returns whether the delegate may be called.
    ///
    /// - Parameter isLast: Whether the call is for the last message.
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

    /// Whether the session ends as soon as it has no tasks.
    var mayEnd: Bool {
        if case .closing(_, isSettled: true) = self { return true }
        return false
    }

    /// Handles an invalidation by the app. The app can invalidate a session repeatedly.
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

    /// Begins the end of the session.
    ///
    /// - Returns: False if the session is already over.
    mutating func beginEnding() -> Bool {
        if isOver { return false }
        self = .ending
        return true
    }

    mutating func end() { self = .ended }
}
