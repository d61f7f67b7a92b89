import FoundationNetworking

/// The app's control of a task: its suspensions, its cancellation and its end.
///
/// | Phase | Exits |
/// |---|---|
/// | `open` | `canceling` when the app cancels the task, `completed` when it ends |
/// | `canceling` | `completed` |
/// | `completed` | none |
struct TaskControl: Sendable {
    enum Phase: Equatable, Sendable {
        /// - suspensions: The number of suspensions that were not reversed yet.
        case open(suspensions: Int)
        case canceling
        case completed
    }

    /// The effect of a change on an open task.
    enum Change: Sendable {
        case none
        /// The change from running to suspended.
        case suspended
        /// The change from suspended to running.
        case resumed
    }

    private(set) var phase: Phase
    /// Whether one of the suspensions was caused by pausing the progress object.
    private var isPausedByProgress = false

    init(isSuspended: Bool = true) { phase = .open(suspensions: isSuspended ? 1 : 0) }

    var isOpen: Bool {
        if case .open = phase { return true }
        return false
    }

    var isSuspended: Bool {
        if case .open(let suspensions) = phase { return suspensions > 0 }
        return false
    }

    var visibleState: URLSessionTask.State {
        switch phase {
        case .open(let suspensions): suspensions > 0 ? .suspended : .running
        case .canceling: .canceling
        case .completed: .completed
        }
    }

    /// Suspends the task once.
    mutating func suspend() -> Change {
        guard case .open(let suspensions) = phase else { return .none }
        phase = .open(suspensions: suspensions + 1)
        return suspensions == 0 ? .suspended : .none
    }

    /// Reverses one suspension.
    mutating func resume() -> Change {
        guard case .open(let suspensions) = phase, suspensions > 0 else { return .none }
        phase = .open(suspensions: suspensions - 1)
        return suspensions == 1 ? .resumed : .none
    }

    /// Suspends or resumes the task to match its progress object. Foundation on Linux calls the progress handlers once
    /// for each change, but not in a fixed order, so the handlers only read the current state.
    mutating func follow(isPaused: Bool) -> Change {
        guard isPaused != isPausedByProgress else { return .none }
        isPausedByProgress = isPaused
        return isPaused ? suspend() : resume()
    }

    /// - Returns: False if the task was already cancelled or has ended.
    mutating func cancel() -> Bool {
        guard isOpen else { return false }
        phase = .canceling
        return true
    }

    /// - Returns: False if the task has already ended.
    mutating func end() -> Bool {
        defer { phase = .completed }
        return phase != .completed
    }
}
