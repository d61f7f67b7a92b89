package import NightshiftAPI

/// How good a moment one task waits for, at whose wish, and when it will be content with less.
///
/// Pure: times are boot seconds. The steps: full becomes relaxed when half of the resource timeout has passed, relaxed becomes
/// none when nine tenths have. See `docs/decisions/0014`.
package struct Discretion: Hashable, Sendable {
    package private(set) var level: TransferRules.Discretion
    /// Whether it waits only because its app added it in the background.
    package private(set) var isForced: Bool
    /// When the next step comes; nil where none does.
    package private(set) var loosensAt: Double?

    /// The time that a task has.
    package struct TimeLimit: Hashable, Sendable {
        /// Boot seconds at which it fails.
        package var deadline: Double
        /// Its resource timeout in seconds.
        package var timeout: Double

        /// The failure of a task whose time is over.
        package static let passed = TransferFailure(.timedOut, "The resource timeout has passed.")

        package init(deadline: Double, timeout: Double) {
            self.deadline = deadline
            self.timeout = timeout
        }

        /// Nil where time does not pass for the task, or no timeout was set.
        package init?(deadline: Double?, timeout: Double?) {
            guard let deadline, let timeout else { return nil }
            self.init(deadline: deadline, timeout: timeout)
        }
    }

    package init(_ level: TransferRules.Discretion, isForced: Bool = false, loosensAt: Double? = nil) {
        self.level = level
        self.isForced = isForced
        self.loosensAt = loosensAt
    }

    /// Sets when the next step comes; never, where there is no limit or nothing left to loosen.
    package mutating func schedule(_ limit: TimeLimit?) {
        loosensAt = nil
        guard let limit, let share = Self.shareLeft(level) else { return }
        loosensAt = limit.deadline - limit.timeout * share
    }

    /// The task's app added it in the background: it waits for a good moment until the app comes to the front, unless it
    /// does so by its own wish.
    package mutating func force(_ limit: TimeLimit?) {
        guard level == .none else { return }
        level = .full
        isForced = true
        schedule(limit)
    }

    /// Lets it wait for no good moment any more.
    package mutating func lift() {
        level = .none
        isForced = false
        loosensAt = nil
    }

    /// Makes the next best moment good enough; what happened, in a person's words. Nil where there was nothing to loosen.
    package mutating func loosen(_ limit: TimeLimit?) -> String? {
        switch level {
        case .full:
            level = .relaxed
            schedule(limit)
            return "Half of its time has passed."
        case .relaxed:
            lift()
            return "Nine tenths of its time have passed."
        case .none:
            loosensAt = nil
            return nil
        }
    }

    /// What the journal tells beside those words.
    package var inputs: [String: String] { [Permission.discretionInput: level.rawValue] }

    /// The share of the resource timeout that is left when a task that waits so begins to wait for less.
    private static func shareLeft(_ level: TransferRules.Discretion) -> Double? {
        switch level {
        case .none: nil
        case .relaxed: 0.1
        case .full: 0.5
        }
    }
}
