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
    /// The way in which a program that does not link the library learns which wakes it was launched for.
    package var handover: Handover
    /// Whether the app is woken again if its process ends before it has completed the wake. If false, the wake is
    /// dropped.
    package var isTriedAgain = false
    /// Whether a wake of a force-quit app is kept until the user starts the app.
    package var outlivesForceQuit = false
    /// Whether the wake reaches an app in the foreground, or one that the service does not suspend, at once and without
    /// a limit.
    package var reachesForeground = false
    /// Whether each such wake lengthens the delay of tasks that the app adds in the background. Apple's resume rate
    /// limiter does this for background sessions.
    package var delaysStarts = false
    /// Whether the app gets a warning before the wake's time is over or when the wake is called off
    /// (`expirationHandler`).
    package var isWarned = false
    /// Whether a feature uses the results of the wakes.
    package var hasResult = false

    package enum Limit: Hashable, Sendable {
        /// The limit that the app's entry declares (`X-Nightshift-WakeLimit`).
        case declared
        case seconds(Double)
        case unlimited
    }

    package enum Handover: Hashable, Sendable {
        /// The program gets the names of the sessions.
        case sessions
        /// The program gets the identifiers of the tasks.
        case identifiers
        /// The program gets a file with the payloads of all waiting wakes. Of each key, only the newest payload counts.
        case payloads
    }
}

extension WakeSource {
    package var rules: WakeRules {
        switch self {
        case .session:
            // An app in the foreground reads the messages of its sessions without being woken.
            WakeRules(
                limit: .declared, overdue: .eventsOverdue, handover: .sessions, isTriedAgain: true,
                outlivesForceQuit: true, delaysStarts: true)
        case .fetch:
            WakeRules(
                limit: .seconds(30), mode: .fetch, overdue: .fetchOverdue, handover: .identifiers, isWarned: true,
                hasResult: true)
        case .push:
            // A force quit discards waiting pushes (WWDC 2013, session 204). The alert of a push waits for the end of
            // its wake, so it is shown when the process ends.
            WakeRules(
                limit: .seconds(30), mode: .remoteNotification, overdue: .pushOverdue, handover: .payloads,
                reachesForeground: true, hasResult: true)
        case .response:
            // The user waits for the effect of a response. The app receives it in any state, and it is kept until the
            // app is started.
            WakeRules(
                limit: .seconds(30), overdue: .pushOverdue, handover: .payloads, isTriedAgain: true,
                outlivesForceQuit: true, reachesForeground: true)
        case .region, .significantChange:
            // Apple requires no background mode for these two sources, and gives the app "about ten seconds".
            WakeRules(
                limit: .seconds(10), overdue: .locationOverdue, handover: .payloads, isTriedAgain: true,
                outlivesForceQuit: true, reachesForeground: true)
        case .processing:
            // Apple's documentation allows the task "minutes".
            WakeRules(
                limit: .seconds(300), mode: .processing, overdue: .processingOverdue, handover: .identifiers,
                isWarned: true, hasResult: true)
        case .continued:
            // The user sees the task and can cancel it. So the task has no limit, and the app is not ended because of
            // it.
            WakeRules(
                limit: .unlimited, handover: .identifiers, reachesForeground: true, isWarned: true, hasResult: true)
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
