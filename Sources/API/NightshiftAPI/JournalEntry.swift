package import Foundation

/// A record of one decision of the service. It is stored so that the decision can be explained later.
package struct JournalEntry: Hashable, Sendable, Codable {
    /// The number of the entry. It increases with every entry, and is the `id` in event streams.
    package var id: Int64
    package var time: Date
    package var decision: Decision
    /// The transfer that the entry is about; nil if the entry is about the service or a host.
    package var task: TaskID?
    /// The app that the entry is about; nil if it is about no app.
    package var app: AppID?
    /// The reason why the transfer waits, for ``Decision/held``.
    package var wait: Wait?
    package var error: TransferFailure?
    /// Details for display.
    package var detail: String?
    /// The values that the decision was based on.
    package var inputs: [String: String]?

    package init(
        id: Int64 = 0, time: Date, decision: Decision, task: TaskID? = nil, app: AppID? = nil,
        wait: Wait? = nil, error: TransferFailure? = nil, detail: String? = nil, inputs: [String: String]? = nil
    ) {
        self.id = id
        self.time = time
        self.decision = decision
        self.task = task
        self.app = app
        self.wait = wait
        self.error = error
        self.detail = detail
        self.inputs = inputs
    }
}

/// The first words of a journal entry about a launch. These words say who launched the app.
package enum LaunchWords: String, Sendable {
    /// A launch by the service because a person requested it.
    case forUser = "As process"
    case byUser = "By you, as process"
    case inBackground = "In the background, as process"
    case asCommand = "As a command, process"

    /// The first words of all stored entries that show that somebody used the app. Earlier versions wrote the last of
    /// these words.
    package static let ofUse = [forUser.rawValue, byUser.rawValue, "By its user, as process"]

    /// Returns a text such as "As process 71."
    package func detail(_ process: Int32) -> String { "\(rawValue) \(process)." }
}

/// All kinds of decisions.
package enum Decision: String, Sendable, Codable, CaseIterable {
    case serviceStarted
    case serviceStopping
    case networkLost
    case networkReturned
    case hostPaused
    case accepted
    case started
    case continued
    case restarted
    case reconnected
    case divided
    case undivided
    case mirrorDropped
    case mirrorAsked
    case yielded
    case yieldEnded
    case uploadKept
    case uploadContinued
    case uploadRestarted
    case held
    case suspended
    case resumed
    case changed
    case finishing
    case completed
    case failed
    case cancelled
    case removed
    case asked
    case answered
    case appInstalled
    case appRemoved
    case appLaunched
    case appAdopted
    case appEntered
    case appWoken
    case appWakeCompleted
    case appWakeDropped
    case appLaunchPaused
    case appEnded
    case appHoldsLock
    case backgroundTaskBegan
    case backgroundTaskEnded
    case backgroundTaskRefused
    case backgroundTimeExpiring
    case backgroundTimeStopped
    case backgroundTimeResumed
    case stintBegan
    case stintEnded
    case deviceChanged
    case deviceHeldAwake
    case deviceReleased
    case deviceSlept
    case deviceWoke
    case dozeBegan
    case dozeEnded
    case windowOpened
    case windowClosed
    case networkChanged
    case conditionsLoosened
    case conditionsLifted
    case retargeted
    case serviceFault
    case unreadable
    case retried
    case refreshChanged
    case fetchBegan
    case fetchEnded
    case learnedForgotten
    case useBegan
    case useEnded
    case taskSubmitted
    case taskCancelled
    case taskBegan
    case taskEnded
    case wakeExpiring
    case regionAdded
    case regionRemoved
    case regionEntered
    case regionLeft
    case locationChanged
    case locationPermission
    case pushEnrolled
    case pushConnected
    case pushDisconnected
    case pushRegistered
    case pushReceived
    case pushHeld
    case pushDiscarded
    case pushHandled
    case notificationShown
    /// A notification from a provider waits or is not shown.
    case notificationNotShown
    case notificationChosen
    case notificationPermission
    case settingsChanged

    package var sentence: String {
        switch self {
        case .serviceStarted: "The service started."
        case .serviceStopping: "The service was asked to stop."
        case .networkLost: "The network became unavailable."
        case .networkReturned: "The network is available again."
        case .hostPaused: "A host or its proxy is failing. All transfers that use this route wait together."
        case .accepted: "The transfer was accepted and saved to disk."
        case .started: "The transfer started from the beginning."
        case .continued: "The transfer continued after the bytes already received."
        case .restarted: "The bytes already received could not be used. The transfer restarted from the beginning."
        case .reconnected: "The connection stopped delivering data. The transfer continues over a new connection."
        case .divided: "Several connections download the file, each a part of it."
        case .undivided: "A single connection downloads the rest of the file."
        case .mirrorDropped: "A mirror is no longer used."
        case .mirrorAsked: "The file is requested from another URL."
        case .yielded: "The transfer yields to other traffic."
        case .yieldEnded: "The other traffic has ended. The transfer uses the whole line again."
        case .uploadKept:
            "The server keeps the bytes that it receives, so the upload can continue after an interruption."
        case .uploadContinued: "The upload continued from the bytes that the server has."
        case .uploadRestarted:
            "The server's copy of the upload could not be used. The upload restarted from the beginning."
        case .held: "The transfer is waiting."
        case .suspended: "The transfer was paused."
        case .resumed: "The transfer was resumed."
        case .changed: "The settings of the transfer were changed."
        case .finishing: "All bytes were transferred. The transfer is being finished."
        case .completed: "The transfer completed."
        case .failed: "The transfer failed."
        case .cancelled: "The transfer was cancelled."
        case .removed: "The transfer was removed from the list."
        case .asked: "The app was asked a question. The transfer waits for the answer."
        case .answered: "The app answered."
        case .appInstalled: "The app was installed."
        case .appRemoved: "The app was removed."
        case .appLaunched: "The app was launched."
        case .appAdopted: "The app was already running. The service manages it again."
        case .appEntered: "The app changed its state."
        case .appWoken: "The app was woken in the background."
        case .appWakeCompleted: "The app completed the work that it was woken for."
        case .appWakeDropped: "A reason to wake the app was dropped."
        case .appLaunchPaused: "Background launches of the app are paused because it failed repeatedly."
        case .appEnded: "The app's process ended."
        case .appHoldsLock: "The app was about to be suspended while it held a lock on a file that others use."
        case .backgroundTaskBegan: "A background task began."
        case .backgroundTaskEnded: "A background task ended."
        case .backgroundTaskRefused: "A background task was refused."
        case .backgroundTimeExpiring: "The app was notified that its background time is about to end."
        case .backgroundTimeStopped: "The app and its background time are paused until the next maintenance window."
        case .backgroundTimeResumed: "The app continues in a maintenance window."
        case .stintBegan: "A background run of the app began."
        case .stintEnded: "The background run of the app ended."
        case .deviceChanged: "The device's conditions changed."
        case .deviceHeldAwake: "The device is kept awake."
        case .deviceReleased: "The device is no longer kept awake."
        case .deviceSlept: "The machine went to sleep."
        case .deviceWoke: "The machine woke from sleep."
        case .dozeBegan: "The device started dozing. Background work is paused."
        case .dozeEnded: "The device stopped dozing."
        case .windowOpened: "A maintenance window opened. Waiting work runs now."
        case .windowClosed: "The maintenance window closed."
        case .networkChanged: "The network changed. Open connections are being checked."
        case .conditionsLoosened: "The deadline of the transfer is approaching. Its conditions were relaxed."
        case .conditionsLifted: "The app is in the foreground. Its transfers no longer wait for good conditions."
        case .retargeted: "The URL of the transfer was changed."
        case .serviceFault: "The service crashed. Interrupted transfers start again one at a time."
        case .unreadable: "Stored data cannot be read."
        case .retried: "An immediate retry was requested."
        case .refreshChanged: "The settings of background refresh were changed."
        case .fetchBegan: "A background fetch began."
        case .fetchEnded: "A background fetch ended."
        case .learnedForgotten: "The learned usage of apps was deleted."
        case .useBegan: "The app is now in use."
        case .useEnded: "The app is no longer in use."
        case .taskSubmitted: "The app submitted a scheduled task."
        case .taskCancelled: "A waiting scheduled task was cancelled."
        case .taskBegan: "A scheduled task of the app began."
        case .taskEnded: "A scheduled task of the app ended."
        case .wakeExpiring: "The app was notified that the time for its background work is about to end."
        case .regionAdded: "The app started monitoring a region."
        case .regionRemoved: "The app stopped monitoring a region."
        case .regionEntered: "The device entered a region that the app monitors."
        case .regionLeft: "The device left a region that the app monitors."
        case .locationChanged: "The location changed significantly. The app is notified."
        case .locationPermission: "The location permission of the app was changed."
        case .pushEnrolled: "The device was enrolled at a push gateway, or its enrolment was removed."
        case .pushConnected: "The push gateway is connected."
        case .pushDisconnected: "The push gateway is no longer connected."
        case .pushRegistered: "The app's registration for remote notifications changed."
        case .pushReceived: "A remote notification was received and saved to disk."
        case .pushHeld: "A remote notification waits until the app can be woken for it."
        case .pushDiscarded: "A remote notification was not delivered to the app."
        case .pushHandled: "The app handled a remote notification."
        case .notificationShown: "A notification of the app was shown."
        case .notificationNotShown: "A notification of the app was not shown, or is still waiting."
        case .notificationChosen: "You responded to a notification of the app."
        case .notificationPermission: "The notification permission of the app was changed."
        case .settingsChanged: "The limits for all transfers together were changed."
        }
    }
}
