package import NightshiftAPI
package import Store

/// The rules for the wakes of one source: their limit, which apps receive them, and what happens if they are not
/// completed.
///
/// Wakes of several sources can share one launch. Each has its own completion and limit.
package struct WakeRules: Hashable, Sendable {
    /// The time between the beginning of a wake and its completion.
    package var limit: Limit
    /// The background mode that the app's entry must declare. Nil if none is needed, and for sessions: there the check
    /// is made when a task is added.
    package var mode: BackgroundMode?
    /// The cause that is recorded when an app is ended because it did not complete the wake in time. If nil, the wake
    /// is dropped and the app continues.
    package var overdue: ExitCause?
    /// Whether the app is woken again if its process ends before it has completed the wake. If false, the wake was an
    /// opportunity, and is dropped.
    package var isTriedAgain: Bool
    /// Whether a wake of a force-quit app is kept until the user starts the app.
    package var outlivesForceQuit: Bool
    /// Whether an app in the foreground, or one that the service does not suspend, receives the wake at once and
    /// without a limit.
    package var reachesForeground: Bool
    /// Whether each such wake lengthens the delay of tasks that the app adds in the background (Apple's resume rate
    /// limiter, which applies to background sessions).
    package var delaysStarts: Bool
    /// Whether the app gets a warning before the wake's time is over, or when the wake is called off
    /// (`expirationHandler`).
    package var isWarned: Bool

    package enum Limit: Hashable, Sendable {
        /// The limit that the app's entry declares (`X-Nightshift-WakeLimit`).
        case declared
        case seconds(Double)
        case unlimited
    }
}

extension WakeSource {
    package var rules: WakeRules {
        switch self {
        case .session:
            // In the foreground an app reads the messages of its sessions itself.
            WakeRules(
                limit: .declared, mode: nil, overdue: .eventsOverdue, isTriedAgain: true, outlivesForceQuit: true,
                reachesForeground: false, delaysStarts: true, isWarned: false)
        case .fetch:
            WakeRules(
                limit: .seconds(30), mode: .fetch, overdue: .fetchOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: false, delaysStarts: false, isWarned: true)
        case .push:
            // A force quit discards waiting pushes (WWDC 2013, session 204). The alert of a push waits for the end
            // of its wake, and so is shown when the process ends.
            WakeRules(
                limit: .seconds(30), mode: .remoteNotification, overdue: .pushOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: true, delaysStarts: false, isWarned: false)
        case .response:
            // The user waits for this: the app receives it in any state, and it is kept until the app is started.
            WakeRules(
                limit: .seconds(30), mode: nil, overdue: .pushOverdue, isTriedAgain: true, outlivesForceQuit: true,
                reachesForeground: true, delaysStarts: false, isWarned: false)
        case .region, .significantChange:
            // Apple requires no background mode for either, and gives "about ten seconds".
            WakeRules(
                limit: .seconds(10), mode: nil, overdue: .locationOverdue, isTriedAgain: true,
                outlivesForceQuit: true, reachesForeground: true, delaysStarts: false, isWarned: false)
        case .processing:
            // Apple's documentation says "minutes".
            WakeRules(
                limit: .seconds(300), mode: .processing, overdue: .processingOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: false, delaysStarts: false, isWarned: true)
        case .continued:
            // The user sees the task and can cancel it, so it has no limit, and the app is not ended for it.
            WakeRules(
                limit: .unlimited, mode: nil, overdue: nil, isTriedAgain: false, outlivesForceQuit: false,
                reachesForeground: true, delaysStarts: false, isWarned: true)
        }
    }

    /// How a program that does not link the library learns which wakes it was launched for.
    enum Handover: Hashable, Sendable {
        /// Through the names of the sessions.
        case sessions
        /// Through the identifiers of the tasks.
        case identifiers
        /// Through a file with the payloads of all waiting wakes. Only the newest payload of each key counts.
        case payloads
    }

    var handover: Handover {
        switch self {
        case .session: .sessions
        case .fetch, .processing, .continued: .identifiers
        case .push, .region, .significantChange, .response: .payloads
        }
    }

    /// The limit of a wake in seconds; nil if there is no limit.
    ///
    /// - Parameter declared: the limit from the app's entry, for sources that have no limit of their own.
    package func limit(declared: Double) -> Double? {
        switch rules.limit {
        case .declared: declared
        case .seconds(let seconds): seconds
        case .unlimited: nil
        }
    }
}

/// How a wake ended.
package enum WakeOutcome: Hashable, Sendable {
    /// The app has acknowledged the command of the wake, with this result.
    case acknowledged(RefreshResult)
    /// The program has exited with a status that completes the wake; the messages of a session are acknowledged with
    /// it.
    case exited(Int32)
    /// The wake was dropped for this reason: the app has not completed it, and is not woken for it again.
    case dropped(String)
    /// The process has ended with an unknown status, so it may have completed the wake.
    case unseen(String)

    /// The result of the wake; nil if it is unknown.
    package var result: RefreshResult? {
        switch self {
        case .acknowledged(let result): result
        case .exited(let status): RefreshResult(exitStatus: status)
        case .dropped: .failed
        case .unseen: nil
        }
    }

    /// The form in which features that wait for the result read it.
    package func end(at time: Double) -> WakeEnd {
        let detail: String? =
            switch self {
            case .exited(let status) where result == .failed: "Its exit status was \(status)."
            case .acknowledged, .exited: nil
            case .dropped(let why), .unseen(let why): why
            }
        return WakeEnd(result: result, detail: detail, time: time)
    }
}
