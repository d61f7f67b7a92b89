package import Foundation

/// What an app is doing, as UIKit names it.
package enum AppState: String, Sendable, Codable, CaseIterable {
    case notRunning
    /// In the foreground and about to become active or to leave it.
    case inactive
    case active
    /// Running without the user seeing it.
    case background
    /// In memory and not running.
    case suspended
}

/// What an app may be launched for, declared in its entry as `X-Nightshift-BackgroundModes`.
package enum BackgroundMode: String, Sendable, Codable, CaseIterable {
    /// Events of its background sessions.
    case transfer
    case fetch
    case remoteNotification = "remote-notification"
    case location
    case processing
}

/// How an app's process came to its end.
package struct AppExit: Hashable, Sendable, Codable {
    package var time: Date
    package var cause: ExitCause
    /// Its exit status, where it exited by itself and the service was its parent.
    package var status: Int32?
    /// The signal that ended it.
    package var signal: Int32?
    package var detail: String?

    package init(
        time: Date, cause: ExitCause, status: Int32? = nil, signal: Int32? = nil, detail: String? = nil
    ) {
        self.time = time
        self.cause = cause
        self.status = status
        self.signal = signal
        self.detail = detail
    }
}

/// Why a process is no more. The codes are those of Apple's crash reports where they have one.
package enum ExitCause: String, Sendable, Codable, CaseIterable {
    /// It exited by itself with status 0.
    case exited
    /// It exited by itself with another status.
    case failed
    /// A signal that the service did not send ended it.
    case signalled
    /// It ended while no service was there to see how.
    case unseen
    /// It was asked to quit, and did or was made to.
    case quit
    /// The user ended it for good: no background launches until the user starts it again.
    case forceQuit
    /// `nightshift app kill`: as a crash, for trials.
    case killed
    /// It did not report within the time for a launch.
    case launchTimeout
    /// `didEnterBackground` did not return in time.
    case backgroundTimeout
    /// It did not complete its session events in time.
    case eventsOverdue
    /// It did not complete a background fetch in time.
    case fetchOverdue
    /// It did not handle a remote notification in time.
    case pushOverdue
    /// It did not handle an event of its location in time.
    case locationOverdue
    /// It did not complete a processing task in time.
    case processingOverdue
    /// Its background time was over, and a background task was still open.
    case taskOverdue
    /// It would have been suspended with a lock on a file that others use as well.
    case fileLock
    /// It could not be started at all.
    case launchFailed

    /// Whether the app itself went wrong: it is launched again only after a pause that grows.
    package var isFault: Bool {
        switch self {
        case .failed, .signalled, .launchTimeout, .backgroundTimeout, .eventsOverdue, .fetchOverdue, .pushOverdue,
            .locationOverdue, .processingOverdue, .taskOverdue, .fileLock, .launchFailed, .killed, .unseen:
            true
        case .exited, .quit, .forceQuit: false
        }
    }

    /// The code of Apple's reports for the same cause.
    package var code: UInt32? {
        switch self {
        case .launchTimeout, .backgroundTimeout: 0x8bad_f00d
        case .taskOverdue: 0x2182_bad2
        case .eventsOverdue: 0x2182_bad3
        case .fetchOverdue: 0x2182_bad4
        case .fileLock: 0xdead_10cc
        default: nil
        }
    }

    package var sentence: String {
        switch self {
        case .exited: "It exited."
        case .failed: "The app exited with an error."
        case .signalled: "The app was ended by a signal."
        case .unseen: "The app ended while the service was not running."
        case .quit: "The app was asked to quit."
        case .forceQuit: "You force-quit the app."
        case .killed: "The app was killed with 'nightshift app kill'."
        case .launchTimeout: "The service ended the app: it did not connect in time after its launch."
        case .backgroundTimeout: "The service ended the app: it took too long to enter the background."
        case .eventsOverdue: "The service ended the app: it did not complete its session events in time."
        case .fetchOverdue: "The service ended the app: it did not complete its background fetch in time."
        case .pushOverdue: "The service ended the app: it did not handle a remote notification in time."
        case .locationOverdue: "The service ended the app: it did not handle a location event in time."
        case .processingOverdue: "The service ended the app: it did not complete its processing task in time."
        case .taskOverdue:
            "The service ended the app: a background task was still open when its background time was over."
        case .fileLock: "The service ended the app: it held a lock on a shared file when it was about to be suspended."
        case .launchFailed: "The app could not be started."
        }
    }
}
