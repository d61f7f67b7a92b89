package import Foundation

/// The body of `POST /v1/process/background-tasks`, which begins a background task. The app must not be suspended
/// before the task ends.
package struct BackgroundTaskRequest: Hashable, Sendable, Codable {
    /// A number that the process chooses and that is unique in it. Repeating a number refers to the same background
    /// task.
    package var number: Int64
    package var name: String

    package init(number: Int64, name: String) {
        self.number = number
        self.name = name
    }
}

/// The background time of an app.
package struct BackgroundStatus: Hashable, Sendable, Codable {
    package var policy: BackgroundPolicy
    /// The source of the policy: `device`, `manifest` or `app` (`nightshift app policy`).
    package var policySource: PolicySource
    /// The number of seconds left in the current background run; nil in the foreground, where there is no limit.
    package var remaining: Double?
    /// Whether the app and its background time are paused because the device dozes.
    package var standsStill: Bool
    /// The open background tasks.
    package var tasks: [BackgroundTaskStatus]
    /// The latest background runs, with the oldest first. The last one may not have ended.
    package var stints: [BackgroundRun]

    package enum PolicySource: String, Sendable, Codable, CaseIterable {
        case device
        case manifest
        case app
    }

    package init(policy: BackgroundPolicy, policySource: PolicySource) {
        self.policy = policy
        self.policySource = policySource
        standsStill = false
        tasks = []
        stints = []
    }
}

package struct BackgroundTaskStatus: Hashable, Sendable, Codable {
    package var name: String
    package var since: Date

    package init(name: String, since: Date) {
        self.name = name
        self.since = since
    }
}

/// One background run. It begins when the app leaves the foreground or is woken, and ends when the app is suspended,
/// enters the foreground or ends.
package struct BackgroundRun: Hashable, Sendable, Codable {
    package var began: Date
    package var ended: Date?
    /// The number of seconds that counted as background time.
    package var seconds: Double
    /// The number of maintenance windows in which the app ran. It is 0 if the device did not doze during the run.
    package var windows: Int
    /// Whether the device was kept awake for this background run.
    package var heldAwake: Bool
    /// The names of the background tasks in this run, without duplicates. There are at most ``mostNames``.
    package var tasks: [String]
    /// The reasons for which the app was woken, without duplicates.
    package var wakes: [WakeReason]
    package var end: End?

    /// The way in which a background run ended.
    package enum End: String, Sendable, Codable, CaseIterable {
        /// A suspension of the app, because it had no work left.
        case suspended
        /// A return to the foreground by the user.
        case foreground
        /// An exit of the process, including one after a request to quit.
        case ended
        /// An end of the process by the service. The last exit of the app gives the reason.
        case terminated

        package var sentence: String {
            switch self {
            case .suspended: "The app had finished its work and was suspended."
            case .foreground: "You brought the app to the foreground."
            case .ended: "The process of the app ended."
            case .terminated: "The service ended the app."
            }
        }
    }

    package static let mostNames = 20

    package init(began: Date) {
        self.began = began
        seconds = 0
        windows = 0
        heldAwake = false
        tasks = []
        wakes = []
    }
}

/// A lock on a file that others use. An app that is about to be suspended has this lock.
package struct HeldLock: Hashable, Sendable, Codable {
    package var path: String
    package var process: Int32
    /// The type of the lock as the kernel calls it: `flock`, `POSIX`, `OFD` or `lease`.
    package var kind: String

    package init(path: String, process: Int32, kind: String) {
        self.path = path
        self.process = process
        self.kind = kind
    }
}

/// The handling of an app that is about to be suspended while it has such a file locked (`X-Nightshift-FileLocks`).
package enum FileLockPolicy: String, Sendable, Codable, CaseIterable {
    case warn
    /// The end of the app, as on iOS.
    case terminate
}

/// The body of `PATCH /v1/apps/{id}`: the user's settings for an app.
package struct AppChange: Hashable, Sendable, Codable {
    /// The policy: `contiguous` or `opportunistic`, optionally followed by `:SECONDS`, or `default`.
    package var backgroundPolicy: String?

    package init(backgroundPolicy: String? = nil) {
        self.backgroundPolicy = backgroundPolicy
    }
}
