package import NightshiftAPI
package import Store

/// What holds for the wakes of one source: how long they may take, whom they reach, and what becomes of those that are not
/// completed. Several sources share one launch, and each has its own completion and limit.
package struct WakeRules: Hashable, Sendable {
    /// The time between the beginning of a wake and its completion.
    package var limit: Limit
    /// What the app's entry has to declare. Nil where nothing has to be, and for sessions, which are refused when a task is
    /// handed over.
    package var mode: BackgroundMode?
    /// Why an app is ended that does not complete the wake in time; nil where the wake is given up and the app goes on.
    package var overdue: ExitCause?
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
    /// Whether the app is told shortly before the wake's time is over, or that it is not to go on (`expirationHandler`).
    package var isWarned: Bool

    package enum Limit: Hashable, Sendable {
        /// The app's entry says it (`X-Nightshift-WakeLimit`).
        case declared
        case seconds(Double)
        case unlimited
    }
}

extension WakeSource {
    package var rules: WakeRules {
        switch self {
        case .session:
            // In front of its user an app reads the messages of its sessions itself.
            WakeRules(
                limit: .declared, mode: nil, overdue: .eventsOverdue, isTriedAgain: true, outlivesForceQuit: true,
                reachesForeground: false, delaysStarts: true, isWarned: false)
        case .fetch:
            WakeRules(
                limit: .seconds(30), mode: .fetch, overdue: .fetchOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: false, delaysStarts: false, isWarned: true)
        case .push:
            // A force quit discards what waits (WWDC 2013, session 204). Its alert waits for the end of the wake, so that
            // comes with the process's.
            WakeRules(
                limit: .seconds(30), mode: .remoteNotification, overdue: .pushOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: true, delaysStarts: false, isWarned: false)
        case .response:
            // Its user waits for it: the app is told wherever it is, and kept for when it is started.
            WakeRules(
                limit: .seconds(30), mode: nil, overdue: .pushOverdue, isTriedAgain: true, outlivesForceQuit: true,
                reachesForeground: true, delaysStarts: false, isWarned: false)
        case .region, .significantChange:
            // Apple asks for no background mode for either, and gives "about ten seconds".
            WakeRules(
                limit: .seconds(10), mode: nil, overdue: .locationOverdue, isTriedAgain: true,
                outlivesForceQuit: true, reachesForeground: true, delaysStarts: false, isWarned: false)
        case .processing:
            // Apple says "minutes".
            WakeRules(
                limit: .seconds(300), mode: .processing, overdue: .processingOverdue, isTriedAgain: false,
                outlivesForceQuit: false, reachesForeground: false, delaysStarts: false, isWarned: true)
        case .continued:
            // Its user sees it and may cancel it: no time ends it, and nothing ends the app for it.
            WakeRules(
                limit: .unlimited, mode: nil, overdue: nil, isTriedAgain: false, outlivesForceQuit: false,
                reachesForeground: true, delaysStarts: false, isWarned: true)
        }
    }

    /// How a program that does not link the library hears what its wakes are about.
    enum Handover: Hashable, Sendable {
        /// By the names of the sessions.
        case sessions
        /// By the identifiers of the tasks.
        case identifiers
        /// By a file with the payloads of all that waited. They are news, of which the newest of each key counts.
        case payloads
    }

    var handover: Handover {
        switch self {
        case .session: .sessions
        case .fetch, .processing, .continued: .identifiers
        case .push, .region, .significantChange, .response: .payloads
        }
    }

    /// Seconds that a wake may take; nil for as long as it likes.
    ///
    /// - Parameter declared: what the app's entry gives to wakes whose source has no limit of its own.
    package func limit(declared: Double) -> Double? {
        switch rules.limit {
        case .declared: declared
        case .seconds(let seconds): seconds
        case .unlimited: nil
        }
    }
}

/// How a wake came to its end.
package enum WakeOutcome: Hashable, Sendable {
    /// The app has acknowledged the command that asked for it, and says what came of it.
    case acknowledged(RefreshResult)
    /// The app has exited with a status that completes it; the messages of a session are acknowledged with it.
    case exited(Int32)
    /// The app is not woken for it any more, and has not completed it, because of this.
    case dropped(String)
    /// Its process has ended, and nobody saw with what status: it may have completed the wake.
    case unseen(String)

    /// Nil where nobody knows.
    package var result: RefreshResult? {
        switch self {
        case .acknowledged(let result): result
        case .exited(let status): RefreshResult(exitStatus: status)
        case .dropped: .failed
        case .unseen: nil
        }
    }

    /// As those read it who wait for what comes of a wake.
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
