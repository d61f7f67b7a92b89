package import Foundation

/// One decision of the service, kept so that it can be explained later.
package struct JournalEntry: Hashable, Sendable, Codable {
    /// Grows with every entry; the `id` of the event streams.
    package var id: Int64
    package var time: Date
    package var decision: Decision
    /// The task it is about; nil where it is about the service or a host.
    package var task: TaskID?
    /// The app it is about.
    package var app: AppID?
    /// For ``Decision/held``: what the task waits for.
    package var wait: Wait?
    package var error: TransferFailure?
    /// The particulars in a person's words.
    package var detail: String?
    /// What was looked at, value by value.
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

/// How the journal's entry of a launch begins: who has launched the app.
package enum LaunchWords: String, Sendable, CaseIterable {
    /// The service launched it, at the request of a person.
    case forUser = "As process"
    case byUser = "By its user, as process"
    case inBackground = "In the background, as process"
    case asCommand = "As a command, process"

    /// Whether the entry shows that somebody used the app.
    package var isUse: Bool { self == .forUser || self == .byUser }

    /// "As process 71."
    package func detail(_ process: Int32) -> String { "\(rawValue) \(process)." }
}

/// Every kind of decision there is.
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
    /// A notification that a provider has sent waits, or is not shown.
    case notificationNotShown
    case notificationChosen
    case notificationPermission
    case settingsChanged

    package var sentence: String {
        switch self {
        case .serviceStarted: "The service started."
        case .serviceStopping: "The service was asked to stop."
        case .networkLost: "The network went away."
        case .networkReturned: "The network came back."
        case .hostPaused: "A host is in trouble; its transfers pause together."
        case .accepted: "The task was accepted and is on disk."
        case .started: "The transfer started from the beginning."
        case .continued: "The transfer continued from the bytes already here."
        case .restarted: "The bytes already here could not be used; the transfer began again."
        case .reconnected: "The connection brought nothing any more; the transfer goes on over a new one."
        case .divided: "Several connections fetch the file, each a part of it."
        case .undivided: "One connection alone fetches the rest of the file."
        case .mirrorDropped: "A mirror is not asked any more."
        case .mirrorAsked: "The file is asked for elsewhere."
        case .uploadKept: "The server keeps what arrives; after a break the upload goes on there."
        case .uploadContinued: "The upload continued from the bytes that the server has."
        case .uploadRestarted: "What the server had of the upload could not be used; it began again."
        case .held: "The transfer has to wait."
        case .suspended: "The task was suspended."
        case .resumed: "The task was resumed."
        case .changed: "The task's settings were changed."
        case .finishing: "All bytes are here; they are being checked and put in their place."
        case .completed: "The task completed."
        case .failed: "The task failed."
        case .cancelled: "The task was cancelled."
        case .removed: "The task was removed from the list."
        case .asked: "The app was asked; the task waits for its answer."
        case .answered: "The app has answered."
        case .appInstalled: "The app was installed."
        case .appRemoved: "The app was removed."
        case .appLaunched: "The app was launched."
        case .appAdopted: "The app was running already; the service looks after it again."
        case .appEntered: "The app changed its state."
        case .appWoken: "The app was woken in the background."
        case .appWakeCompleted: "The app has completed what it was woken for."
        case .appWakeDropped: "A reason to wake the app is given up."
        case .appLaunchPaused: "The app is not launched for a while, because it went wrong."
        case .appEnded: "The app's process ended."
        case .appHoldsLock: "The app was to be suspended and holds a lock on a file that others use."
        case .backgroundTaskBegan: "A background task began."
        case .backgroundTaskEnded: "A background task ended."
        case .backgroundTaskRefused: "A background task was refused."
        case .backgroundTimeExpiring: "The app's background time is nearly over; it was told."
        case .backgroundTimeStopped: "The app stands still until the next window; its background time does too."
        case .backgroundTimeResumed: "The app goes on in a window."
        case .stintBegan: "The app runs in the background."
        case .stintEnded: "The app's stint in the background ended."
        case .deviceChanged: "The device's conditions changed."
        case .deviceHeldAwake: "The device is held awake."
        case .deviceReleased: "The device is no longer held awake."
        case .deviceSlept: "The machine went to sleep."
        case .deviceWoke: "The machine woke."
        case .dozeBegan: "The device dozes: background work stands still."
        case .dozeEnded: "The device no longer dozes."
        case .windowOpened: "A window opened: what waited runs."
        case .windowClosed: "The window closed."
        case .networkChanged: "The network is another one; connections are checked."
        case .conditionsLoosened: "The task's time is running out; it waits for less."
        case .conditionsLifted: "The app is in front; its tasks no longer wait for a good moment."
        case .retargeted: "The task was given another URL."
        case .serviceFault: "A fault ended the service; what was under way starts one at a time."
        case .unreadable: "What is kept here cannot be read."
        case .retried: "The next attempt was asked for at once."
        case .refreshChanged: "What is wanted of background refresh was changed."
        case .fetchBegan: "A background fetch began."
        case .fetchEnded: "A background fetch ended."
        case .learnedForgotten: "What was learned of the use of apps is forgotten."
        case .useBegan: "The app came into use."
        case .useEnded: "The app is no longer in use."
        case .taskSubmitted: "The app submitted a task for later."
        case .taskCancelled: "A task that waited was cancelled."
        case .taskBegan: "A task of the app began."
        case .taskEnded: "A task of the app ended."
        case .wakeExpiring: "The time of a wake is nearly over; the app was told."
        case .regionAdded: "The app watches a region."
        case .regionRemoved: "The app does not watch a region any more."
        case .regionEntered: "The device has entered a region that the app watches."
        case .regionLeft: "The device has left a region that the app watches."
        case .locationChanged: "The device is in another place; the app is told."
        case .locationPermission: "Its user has said whether the app may learn where the device is."
        case .pushEnrolled: "The device was enrolled at a push gateway, or has left it."
        case .pushConnected: "The push gateway is connected."
        case .pushDisconnected: "The push gateway is not connected any more."
        case .pushRegistered: "The app has registered for remote notifications, or does not want them any more."
        case .pushReceived: "A remote notification has come, and is on disk."
        case .pushHeld: "A remote notification waits before the app is woken for it."
        case .pushDiscarded: "A remote notification does not reach the app."
        case .pushHandled: "The app has handled a remote notification."
        case .notificationShown: "A notification of the app is shown."
        case .notificationNotShown: "A notification of the app is not shown, or not yet."
        case .notificationChosen: "The user has answered a notification of the app."
        case .notificationPermission: "Its user has said whether the app's notifications are shown."
        case .settingsChanged: "What all transfers together may use was changed."
        }
    }
}
