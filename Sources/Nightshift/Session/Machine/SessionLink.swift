import Foundation

/// The link between a session and the service: whether the service knows that the session is here, and which attempt tells it next.
///
/// | State | Exits |
/// |---|---|
/// | `joining` | `attached`, `refused` |
/// | `attached` | `rejoining` when messages stop coming, `refused` |
/// | `rejoining` | `attached`, `refused` |
/// | `refused` | none |
struct SessionLink: Sendable {
    enum State: Equatable, Sendable {
        /// The service has not said yet what it has of the session.
        ///
        /// - isAway: whether the last attempt found no service. Callers that fail fast do not wait for the next one.
        case joining(isAway: Bool)
        case attached
        /// Messages no longer come: the service has to hear again that the session is here.
        case rejoining(isAway: Bool)
        /// For good: every task ends with this error.
        case refused(URLError)
    }

    private(set) var state = State.joining(isAway: false)
    /// The attempt that is scheduled. Any other does nothing when its time comes.
    private var scheduledAttempt: Int?
    private var lastAttempt = 0
    /// The pause before the next attempt.
    private var pause: Duration = .zero

    private static let shortestPause: Duration = .milliseconds(20)
    private static let longestPause: Duration = .seconds(5)

    /// Whether the service has yet to hear that the session is here.
    var isDetached: Bool {
        switch state {
        case .joining, .rejoining: true
        case .attached, .refused: false
        }
    }

    /// Whether the service has never said what it has of the session, and still may.
    var isJoining: Bool {
        if case .joining = state { return true }
        return false
    }

    var isAway: Bool { state == .joining(isAway: true) || state == .rejoining(isAway: true) }

    var refusal: URLError? {
        if case .refused(let error) = state { return error }
        return nil
    }

    /// Schedules an attempt instead of the one that is scheduled, and returns its number.
    mutating func schedule() -> Int {
        lastAttempt += 1
        scheduledAttempt = lastAttempt
        return lastAttempt
    }

    /// Whether this attempt is the one to make.
    func isDue(_ attempt: Int) -> Bool { isDetached && scheduledAttempt == attempt }

    /// - Returns: whether to make this attempt.
    mutating func begin(_ attempt: Int) -> Bool {
        guard isDue(attempt) else { return false }
        scheduledAttempt = nil
        return true
    }

    mutating func attached() {
        guard isDetached else { return }
        state = .attached
        scheduledAttempt = nil
        pause = .zero
    }

    /// An attempt has failed, or messages have stopped coming.
    ///
    /// - Returns: the next attempt and the pause before it; nil where one is scheduled already.
    mutating func lost(isUnreachable: Bool) -> (attempt: Int, pause: Duration)? {
        switch state {
        case .joining: state = .joining(isAway: isUnreachable)
        case .attached, .rejoining: state = .rejoining(isAway: isUnreachable)
        case .refused: return nil
        }
        guard scheduledAttempt == nil else { return nil }
        defer { pause = min(max(pause * 2, Self.shortestPause), Self.longestPause) }
        return (schedule(), pause)
    }

    /// A message has come: the next pause is the shortest again.
    mutating func heard() { pause = .zero }

    /// - Returns: an attempt to make at once, where the next one waits for the service.
    mutating func serviceIsBack() -> Int? {
        switch state {
        case .joining(isAway: true): state = .joining(isAway: false)
        case .rejoining(isAway: true): state = .rejoining(isAway: false)
        default: return nil
        }
        return schedule()
    }

    /// - Returns: false where it was refused before.
    mutating func refuse(_ error: URLError) -> Bool {
        guard refusal == nil else { return false }
        state = .refused(error)
        scheduledAttempt = nil
        return true
    }
}
