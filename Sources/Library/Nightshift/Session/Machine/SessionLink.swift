import Foundation

/// The link between a session and the service. It records whether the service has been notified that the session exists
/// in this process, and which attempt to notify the service is next.
///
/// | State | Exits |
/// |---|---|
/// | `joining` | `attached`, `refused` |
/// | `attached` | `rejoining` when messages stop arriving, `refused` |
/// | `rejoining` | `attached`, `refused` |
/// | `refused` | none |
struct SessionLink: Sendable {
    enum State: Equatable, Sendable {
        /// The state before the service has listed the session's tasks.
        ///
        /// - isAway: Whether the service could not be reached at the last attempt. Callers that fail fast do not wait
        ///   for the next attempt.
        case joining(isAway: Bool)
        case attached
        /// The state after messages stopped arriving. The service has to be notified again that the session exists in
        /// this process.
        case rejoining(isAway: Bool)
        /// The state after the service has refused the session for good. Every task ends with this error.
        case refused(URLError)
    }

    private(set) var state = State.joining(isAway: false)
    /// The number of the scheduled attempt. An attempt with any other number is ignored when its time has come.
    private var scheduledAttempt: Int?
    private var lastAttempt = 0
    private var backoff = Backoff(.milliseconds(20)...(.seconds(5)))

    /// Whether the service still has to be notified that the session exists in this process.
    var isDetached: Bool {
        switch state {
        case .joining, .rejoining: true
        case .attached, .refused: false
        }
    }

    /// Whether the service has not yet listed the session's tasks but may still do so.
    var isJoining: Bool {
        if case .joining = state { return true }
        return false
    }

    var isAway: Bool { state == .joining(isAway: true) || state == .rejoining(isAway: true) }

    var refusal: URLError? {
        if case .refused(let error) = state { return error }
        return nil
    }

    /// Schedules an attempt and returns its number. An attempt that was already scheduled is replaced.
    mutating func schedule() -> Int {
        lastAttempt += 1
        scheduledAttempt = lastAttempt
        return lastAttempt
    }

    /// Whether this attempt has to be made.
    func isDue(_ attempt: Int) -> Bool { isDetached && scheduledAttempt == attempt }

    /// Begins an attempt, if it is the scheduled one.
    ///
    /// - Returns: Whether to make this attempt.
    mutating func begin(_ attempt: Int) -> Bool {
        guard isDue(attempt) else { return false }
        scheduledAttempt = nil
        return true
    }

    mutating func attached() {
        guard isDetached else { return }
        state = .attached
        scheduledAttempt = nil
        backoff.reset()
    }

    /// Handles a failed attempt, or the loss of the message stream.
    ///
    /// - Returns: The next attempt and the pause before it. Nil if an attempt is already scheduled.
    mutating func lost(isUnreachable: Bool) -> (attempt: Int, pause: Duration)? {
        switch state {
        case .joining: state = .joining(isAway: isUnreachable)
        case .attached, .rejoining: state = .rejoining(isAway: isUnreachable)
        case .refused: return nil
        }
        guard scheduledAttempt == nil else { return nil }
        return (schedule(), backoff.nextPause())
    }

    /// Handles an event from the service by resetting the next pause to the shortest.
    mutating func heard() { backoff.reset() }

    /// Handles the return of the service.
    ///
    /// - Returns: An attempt to make at once, if the link was waiting for the service.
    mutating func onReconnect() -> Int? {
        switch state {
        case .joining(isAway: true): state = .joining(isAway: false)
        case .rejoining(isAway: true): state = .rejoining(isAway: false)
        default: return nil
        }
        return schedule()
    }

    /// Handles the service's refusal of the session.
    ///
    /// - Returns: False if the session was already refused.
    mutating func refuse(_ error: URLError) -> Bool {
        guard refusal == nil else { return false }
        state = .refused(error)
        scheduledAttempt = nil
        return true
    }
}
