package import Foundation

/// `POST /v1/process/background-tasks`: the app has work to finish; it is not to be suspended meanwhile.
package struct BackgroundTaskRequest: Hashable, Sendable, Codable {
    /// Chosen by the process, unique in it. The same number again is the same task.
    package var number: Int64
    package var name: String

    package init(number: Int64, name: String) {
        self.number = number
        self.name = name
    }
}

/// What an app has of background time.
package struct BackgroundStatus: Hashable, Sendable, Codable {
    package var policy: BackgroundPolicy
    /// Where the policy comes from: `device`, `manifest` or `app` (`nightshift app policy`).
    package var policySource: PolicySource
    /// Seconds left in this stint; nil in the foreground, where there is no limit.
    package var remaining: Double?
    /// Whether it stands still because the device dozes.
    package var standsStill: Bool
    /// Tasks that are open.
    package var tasks: [BackgroundTaskStatus]
    /// The last stints in the background, oldest first; the last one may not have ended.
    package var stints: [BackgroundStint]

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

/// One time of running in the background, from leaving the foreground or being woken to rest, the foreground or the end.
package struct BackgroundStint: Hashable, Sendable, Codable {
    package var began: Date
    package var ended: Date?
    /// Seconds that counted.
    package var seconds: Double
    /// In how many windows of doze it ran; 0 where the device never dozed meanwhile.
    package var windows: Int
    /// Whether the device was held awake for it.
    package var heldAwake: Bool
    /// The names of its background tasks, each once, at most ``mostNames``.
    package var tasks: [String]
    /// What it was woken for, each once.
    package var wakes: [WakeReason]
    package var end: End?

    /// How a stint ended.
    package enum End: String, Sendable, Codable, CaseIterable {
        /// Nothing was left to do: the app was suspended.
        case suspended
        /// Its user brought it to the front.
        case foreground
        /// The process ended by itself, or was asked to.
        case ended
        /// The service ended it, for a reason that the app's last exit tells.
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

/// A lock on a file that others use as well, held by an app that is about to be suspended.
package struct HeldLock: Hashable, Sendable, Codable {
    package var path: String
    package var process: Int32
    /// `flock`, `POSIX`, `OFD` or `lease`, as the kernel calls it.
    package var kind: String

    package init(path: String, process: Int32, kind: String) {
        self.path = path
        self.process = process
        self.kind = kind
    }
}

/// What becomes of an app that would be suspended while it holds such a lock (`X-Nightshift-FileLocks`).
package enum FileLockPolicy: String, Sendable, Codable, CaseIterable {
    case warn
    /// It is ended, as on iOS.
    case terminate
}

/// `PATCH /v1/apps/{id}`: the user's word on an app.
package struct AppChange: Hashable, Sendable, Codable {
    /// `contiguous`, `opportunistic`, either with `:SECONDS`, or `default`.
    package var backgroundPolicy: String?

    package init(backgroundPolicy: String? = nil) {
        self.backgroundPolicy = backgroundPolicy
    }
}
