package import NightshiftAPI

/// What holds for the wakes of one source: how long they may take, whom they reach, and what becomes of those that are not
/// completed. Several sources share one launch, and each has its own completion and limit.
package struct WakeRules: Hashable, Sendable {
    /// Seconds between the beginning of a wake and its completion; nil where the app's entry says so
    /// (`X-Nightshift-WakeLimit`).
    package var limit: Double?
    /// What the app's entry has to declare. Nil where nothing has to be, and for sessions, which are refused when a task is
    /// handed over.
    package var mode: BackgroundMode?
    /// Why an app is ended that does not complete the wake in time.
    package var overdue: ExitCause
    /// Whether the app is woken again where its process ends before it has completed the wake: it has to learn of something.
    /// Otherwise the wake was a chance to do something, and is gone.
    package var isTriedAgain: Bool
    /// Whether the wake is kept, for when its user starts the app, where that is or was force-quit.
    package var outlivesForceQuit: Bool
    /// Whether an app that runs before its user, or that the service does not suspend, is told at once and without a limit.
    package var reachesForeground: Bool
    /// Whether tasks that the app adds in the background wait the longer, the more often it is woken so (Apple's resume rate
    /// limiter, which is about background sessions).
    package var delaysStarts: Bool
}

extension WakeSource {
    package var rules: WakeRules {
        switch self {
        case .session:
            // In front of its user an app reads the messages of its sessions itself.
            WakeRules(
                limit: nil, mode: nil, overdue: .eventsOverdue, isTriedAgain: true, outlivesForceQuit: true,
                reachesForeground: false, delaysStarts: true)
        case .fetch:
            WakeRules(
                limit: 30, mode: .fetch, overdue: .fetchOverdue, isTriedAgain: false, outlivesForceQuit: false,
                reachesForeground: false, delaysStarts: false)
        case .push:
            // A force quit discards what waits (WWDC 2013, session 204).
            WakeRules(
                limit: 30, mode: .remoteNotification, overdue: .pushOverdue, isTriedAgain: true,
                outlivesForceQuit: false, reachesForeground: true, delaysStarts: false)
        case .region, .significantChange:
            // Apple asks for no background mode for either, and gives "about ten seconds".
            WakeRules(
                limit: 10, mode: nil, overdue: .locationOverdue, isTriedAgain: true, outlivesForceQuit: true,
                reachesForeground: true, delaysStarts: false)
        case .continued:
            // Its user sees it and may cancel it: no time ends it.
            WakeRules(
                limit: .infinity, mode: nil, overdue: .processingOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: true, delaysStarts: false)
        case .processing:
            // Apple says "minutes".
            WakeRules(
                limit: 300, mode: .processing, overdue: .processingOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: false, delaysStarts: false)
        }
    }

    /// Seconds that a wake may take.
    ///
    /// - Parameter declared: what the app's entry gives to wakes whose source has no limit of its own.
    package func limit(declared: Double) -> Double { rules.limit ?? declared }
}

/// How a wake came to its end.
package enum WakeOutcome: Hashable, Sendable {
    /// The app has acknowledged the command that asked for it.
    case acknowledged
    /// The app has exited with status 0, which completes everything that it was launched for; the messages of a session are
    /// acknowledged with it.
    case exited
    /// The app is not woken for it any more, and has not completed it.
    case dropped
}
