package import NightshiftAPI
package import Store

/// The rules for the wakes of one source: the time limit, the apps that receive them, and the consequence if they are
/// not completed.
///
/// Wakes of several sources can share one launch. Each wake is completed and limited separately.
package struct WakeRules: Hashable, Sendable {
    /// The time limit from the beginning of a wake to its completion.
    package var limit: Limit
    /// The background mode that the app's entry must declare; nil if no mode is needed. It is also nil for sessions,
    /// whose mode is checked when a task is added.
    package var mode: BackgroundMode?
    /// The cause that is recorded when an app is ended because it did not complete the wake in time. If nil, the wake
    /// is dropped and the app continues.
    package var overdue: ExitCause?
    /// Whether the app is woken again if its process ends before it has completed the wake. If false, the wake is
    /// dropped.
    package var isTriedAgain: Bool
    /// Whether a wake of a force-quit app is kept until the user starts the app.
    package var outlivesForceQuit: Bool
    /// Whether the wake reaches an app in the foreground, or one that the service does not suspend, at once and without
    /// a limit.
    package var reachesForeground: Bool
    /// Whether each such wake lengthens the delay of tasks that the app adds in the background. Apple's resume rate
    /// limiter does this for background sessions.
    package var delaysStarts: Bool
    /// Whether the app gets a warning before the wake's time is over or when the wake is called off
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
            // An app in the foreground reads the messages of its sessions without being woken.
            WakeRules(
                limit: .declared, mode: nil, overdue: .eventsOverdue, isTriedAgain: true, outlivesForceQuit: true,
                reachesForeground: false, delaysStarts: true, isWarned: false)
        case .fetch:
            WakeRules(
                limit: .seconds(30), mode: .fetch, overdue: .fetchOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: false, delaysStarts: false, isWarned: true)
        case .push:
            // A force quit discards waiting pushes (WWDC 2013, session 204). The alert of a push waits for the end of
            // its wake, so it is shown when the process ends.
            WakeRules(
                limit: .seconds(30), mode: .remoteNotification, overdue: .pushOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: true, delaysStarts: false, isWarned: false)
        case .response:
            // The user waits for the effect of a response. The app receives it in any state, and it is kept until the
            // app is started.
            WakeRules(
                limit: .seconds(30), mode: nil, overdue: .pushOverdue, isTriedAgain: true, outlivesForceQuit: true,
                reachesForeground: true, delaysStarts: false, isWarned: false)
        case .region, .significantChange:
            // Apple requires no background mode for these two sources, and gives the app "about ten seconds".
            WakeRules(
                limit: .seconds(10), mode: nil, overdue: .locationOverdue, isTriedAgain: true,
                outlivesForceQuit: true, reachesForeground: true, delaysStarts: false, isWarned: false)
        case .processing:
            // Apple's documentation allows the task "minutes".
            WakeRules(
                limit: .seconds(300), mode: .processing, overdue: .processingOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: false, delaysStarts: false, isWarned: true)
        case .continued:
            // The user sees the task and can cancel it. So the task has no limit, and the app is not ended because of
            // it.
            WakeRules(
                limit: .unlimited, mode: nil, overdue: nil, isTriedAgain: false, outlivesForceQuit: false,
                reachesForeground: true, delaysStarts: false, isWarned: true)
        }
    }

    /// The way in which a program that does not link the library learns which wakes it was launched for.
    enum Handover: Hashable, Sendable {
        /// The program gets the names of the sessions.
        case sessions
        /// The program gets the identifiers of the tasks.
        case identifiers
        /// The program gets a file with the payloads of all waiting wakes. Of each key, only the newest payload counts.
        case payloads
    }

    var handover: Handover {
        switch self {
        case .session: .sessions
        case .fetch, .processing, .continued: .identifiers
        case .push, .region, .significantChange, .response: .payloads
        }
    }

    /// Returns the limit of a wake in seconds; nil if there is no limit.
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

/// The way in which a wake ended.
package enum WakeOutcome: Hashable, Sendable {
    /// The app has acknowledged the command of the wake with this result.
    case acknowledged(RefreshResult)
    /// The program has exited with a status that completes the wake. For a session, this also acknowledges its
    /// messages.
    case exited(Int32)
    /// The wake was dropped for this reason. The app has not completed the wake, and is not woken for it again.
    case dropped(String)
    /// The process has ended with an unknown status, and may have completed the wake.
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

    /// Returns the end of the wake, in the form that features that wait for the result read.
    package func end(at time: Double) -> WakeEnd {
        let detail: String? =
            switch self {
            case .exited(let status) where result == .failed: "The program exited with status \(status)."
            case .acknowledged, .exited: nil
            case .dropped(let why), .unseen(let why): why
            }
        return WakeEnd(result: result, detail: detail, time: time)
    }
}
