package import NightshiftAPI

/// The discretion of one task: how favourable the device state has to be, who asked for that, and when the requirement
/// is relaxed. This is a pure value.
///
/// Times are boot seconds. Full becomes relaxed when half of the resource timeout has passed. Relaxed becomes none when
/// nine tenths have passed. See `docs/decisions/0014`.
package struct Discretion: Hashable, Sendable {
    package private(set) var level: TransferRules.Discretion
    /// Whether the task is discretionary only because its app added it in the background.
    package private(set) var isForced: Bool
    /// The time of the next relaxation in boot seconds; nil if none is planned.
    package private(set) var relaxesAt: Double?

    /// The time limit of a task.
    package struct TimeLimit: Hashable, Sendable {
        /// The time in boot seconds at which the task fails.
        package var deadline: Double
        /// The resource timeout in seconds.
        package var timeout: Double

        /// The failure of a task whose resource timeout has passed.
        package static let passed = TransferFailure(.timedOut, "The resource timeout has passed.")

        package init(deadline: Double, timeout: Double) {
            self.deadline = deadline
            self.timeout = timeout
        }

        /// Creates the limit. Returns nil if the task has no deadline or no timeout.
        package init?(deadline: Double?, timeout: Double?) {
            guard let deadline, let timeout else { return nil }
            self.init(deadline: deadline, timeout: timeout)
        }
    }

    package init(_ level: TransferRules.Discretion, isForced: Bool = false, relaxesAt: Double? = nil) {
        self.level = level
        self.isForced = isForced
        self.relaxesAt = relaxesAt
    }

    /// Sets the time of the next relaxation, or none if there is no limit or nothing to relax.
    package mutating func schedule(_ limit: TimeLimit?) {
        relaxesAt = nil
        guard let limit, let share = Self.shareLeft(level) else { return }
        relaxesAt = limit.deadline - limit.timeout * share
    }

    /// Makes the task fully discretionary because its app added it in the background. A task that is already
    /// discretionary does not change. The forced discretion ends when the app comes to the foreground.
    package mutating func force(_ limit: TimeLimit?) {
        guard level == .none else { return }
        level = .full
        isForced = true
        schedule(limit)
    }

    /// Makes the task run without waiting for good conditions.
    package mutating func lift() {
        level = .none
        isForced = false
        relaxesAt = nil
    }

    /// Relaxes the discretion by one step. Returns the reason as a sentence; nil if the discretion could not be
    /// relaxed.
    package mutating func loosen(_ limit: TimeLimit?) -> String? {
        switch level {
        case .full:
            level = .relaxed
            schedule(limit)
            return "Half of the transfer's time limit has passed."
        case .relaxed:
            lift()
            return "Nine tenths of the transfer's time limit have passed."
        case .none:
            relaxesAt = nil
            return nil
        }
    }

    /// The journal inputs that accompany the sentence.
    package var inputs: [String: String] { [Permission.discretionInput: level.rawValue] }

    /// Returns the share of the resource timeout that remains when this level is relaxed.
    private static func shareLeft(_ level: TransferRules.Discretion) -> Double? {
        switch level {
        case .none: nil
        case .relaxed: 0.1
        case .full: 0.5
        }
    }
}
