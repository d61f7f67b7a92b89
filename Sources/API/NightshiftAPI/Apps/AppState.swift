package import Foundation

/// The state of an app, with the names that UIKit uses.
package enum AppState: String, Sendable, Codable, CaseIterable {
    case notRunning
    /// The state of an app in the foreground that does not receive events. The app is about to become active or to
    /// leave the foreground.
    case inactive
    case active
    /// The state of an app that is running but not visible to the user.
    case background
    /// The state of an app that is in memory but not running.
    case suspended

    /// The name of the state for display.
    package var name: String { self == .notRunning ? "not running" : rawValue }
}

/// A purpose for which an app may be launched in the background. The desktop entry declares it in
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
    /// The exit status; nil if a signal ended the process or if the service was not its parent.
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

/// The cause for the end of a process. It has the code of Apple's crash reports if they have one for it.
package enum ExitCause: String, Sendable, Codable, CaseIterable {
    /// An exit of the process with status 0.
    case exited
    /// An exit of the process with another status.
    case failed
    /// A signal that the service did not send.
    case signalled
    /// An unknown cause, because the process ended while the service was not running.
    case unseen
    /// A request to quit. The app quit or was ended.
    case quit
    /// A force quit by the user. The app is not launched in the background until the user starts it again.
    case forceQuit
    /// The command `nightshift app kill`, which simulates a crash for testing.
    case killed
    /// A launch timeout: the app did not report to the service in time.
    case launchTimeout
    /// A timeout of `didEnterBackground`, which did not return in time.
    case backgroundTimeout
    /// A timeout of session events, which the app did not complete in time.
    case eventsOverdue
    /// A timeout of a background fetch, which the app did not complete in time.
    case fetchOverdue
    /// A timeout of a remote notification, which the app did not handle in time.
    case pushOverdue
    /// A timeout of a location event, which the app did not handle in time.
    case locationOverdue
    /// A timeout of a processing task, which the app did not complete in time.
    case processingOverdue
    /// A background task that was still open when the background time was over.
    case taskOverdue
    /// A lock on a file that others use. The app had the file locked when it was about to be suspended.
    case fileLock
    /// A failure to start the process.
    case launchFailed

    /// Whether the app caused the problem. The app is then relaunched only after a pause that grows with each failure.
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
