package import NightshiftAPI
package import Store

/// An effect that an ``AppMachine`` requests. Effects are executed in order.
package enum AppAction: Hashable, Sendable {
    /// Starts the program.
    ///
    /// `wakes` are the wakes that the program is launched for. For a launch in the foreground, they are the user's
    /// responses to notifications.
    case spawn(background: Bool, wakes: [WantedWake], arguments: [String])
    /// Sends a command on the process's command stream.
    case send(ProcessCommand)
    /// Sends a command to a secondary process of the app. The number is the pid of that process.
    case tellGuest(Int32, ProcessCommand)
    case freeze
    case thaw
    /// Sends SIGTERM.
    case terminate
    /// Sends SIGKILL to the process and everything it has started.
    case kill
    /// Records the end of a wake, so that the wake does not run the app again.
    case finishWake(WantedWake, WakeOutcome)
    case cancelTransfers
    /// Unblocks the tasks that were blocked because the app was in the background. The app has come to the foreground.
    case cameToFront
    case note(Decision, String?, inputs: [String: String] = [:])
}

/// The rules for an app's background time.
package struct BackgroundTerms: Hashable, Sendable {
    package var policy: BackgroundPolicy
    package var source: BackgroundStatus.PolicySource
    /// The warning time: the seconds between the expiration warning and the end of the background time.
    package var lead: Double
    package var fileLocks: FileLockPolicy

    package init(
        policy: BackgroundPolicy = .opportunistic, source: BackgroundStatus.PolicySource = .device, lead: Double = 5,
        fileLocks: FileLockPolicy = .warn
    ) {
        self.policy = policy
        self.source = source
        self.lead = lead
        self.fileLocks = fileLocks
    }

    /// Creates the terms from settings of three levels. The user's setting for the app takes precedence over the app's
    /// desktop entry, and the entry over the device's policy.
    package init(
        user: BackgroundPolicy?, manifest: BackgroundPolicy?, device: BackgroundPolicy, lead: Double,
        fileLocks: FileLockPolicy = .warn
    ) {
        self.init(
            policy: user ?? manifest ?? device, source: user != nil ? .app : manifest != nil ? .manifest : .device,
            lead: lead, fileLocks: fileLocks)
    }

    /// The warning time, limited to half of the background time so that some time is left before the warning.
    var effectiveLead: Double { min(lead, policy.seconds / 2) }
}

/// The reason why a background task is refused.
package enum BackgroundTaskRefusal: Error, Hashable, Sendable {
    case notRunning
    case ending
    case tooMany
    case noTime(left: Double)

    package var sentence: String {
        switch self {
        case .notRunning: "The app is not running."
        case .ending: "The app is being ended."
        case .tooMany: "The app has \(Limits.backgroundTasks) open background tasks, and may have no more."
        case .noTime(let left):
            "The app has \((left * 10).rounded() / 10) s of background time left, too little for another task."
        }
    }
}
