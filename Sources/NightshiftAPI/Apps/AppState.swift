package import Foundation

/// The state of an app, with the names that UIKit uses.
package enum AppState: String, Sendable, Codable, CaseIterable {
    case notRunning
    /// In the foreground, but not receiving events: about to become active or to leave the foreground.
    case inactive
    case active
    /// Running, but not visible to the user.
    case background
    /// In memory, but not running.
    case suspended
}

/// A purpose for which an app may be launched in the background. It is declared in the desktop entry as
/// `X-Nightshift-BackgroundModes`.
package enum BackgroundMode: String, Sendable, Codable, CaseIterable {
    /// Events of the background sessions of the app.
    case transfer
    case fetch
    case remoteNotification = "remote-notification"
    case location
    case processing
}

/// The end of an app's process.
package struct AppExit: Hashable, Sendable, Codable {
    package var time: Date
    package var cause: ExitCause
    /// The exit status, if the process exited by itself and the service was its parent.
    package var status: Int32?
    /// The signal that ended the process.
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

/// The cause for the end of a process. The codes are those of Apple's crash reports, if they have one.
package enum ExitCause: String, Sendable, Codable, CaseIterable {
    /// The process exited by itself with status 0.
    case exited
    /// The process exited by itself with another status.
    case failed
    /// The process was ended by a signal that the service did not send.
    case signalled
    /// The process ended while the service was not running, so the cause is unknown.
    case unseen
    /// The app was asked to quit, and quit or was ended.
    case quit
    /// The user force-quit the app: it is not launched in the background until the user starts it again.
    case forceQuit
    /// `nightshift app kill`: simulates a crash, for testing.
    case killed
    /// The app did not report to the service within the launch timeout.
    case launchTimeout
    /// `didEnterBackground` did not return in time.
    case backgroundTimeout
    /// The app did not complete its session events in time.
    case eventsOverdue
    /// The app did not complete a background fetch in time.
    case fetchOverdue
    /// The app did not handle a remote notification in time.
    case pushOverdue
    /// The app did not handle a location event in time.
    case locationOverdue
    /// The app did not complete a processing task in time.
    case processingOverdue
    /// The background time was over while a background task was still open.
    case taskOverdue
    /// The app held a lock on a file that others use when it was about to be suspended.
    case fileLock
    /// The process could not be started.
    case launchFailed

    /// Whether the app caused the problem. It is then relaunched only after a pause that grows with each failure.
    package var isFault: Bool {
        switch self {
        case .failed, .signalled, .launchTimeout, .backgroundTimeout, .eventsOverdue, .fetchOverdue, .pushOverdue,
            .locationOverdue, .processingOverdue, .taskOverdue, .fileLock, .launchFailed, .killed, .unseen:
            true
        case .exited, .quit, .forceQuit: false
        }
    }

    /// The code that Apple's crash reports use for the same cause.
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
