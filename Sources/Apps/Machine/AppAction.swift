package import NightshiftAPI
package import Store

/// An effect that an ``AppMachine`` asks for. Effects are executed in order.
package enum AppAction: Hashable, Sendable {
    /// The wakes are what it is launched for; of a launch in front, what its user has chosen.
    case spawn(background: Bool, wakes: [WantedWake], arguments: [String])
    /// To the process's stream of commands.
    case send(ProcessCommand)
    /// To the stream of another process of the app, by its number.
    case tellGuest(Int32, ProcessCommand)
    case freeze
    case thaw
    /// SIGTERM.
    case terminate
    /// SIGKILL, to all of it.
    case kill
    /// A wake is over: the app is not to be woken for it again.
    case finishWake(WantedWake, WakeOutcome)
    case cancelTransfers
    /// It came to the front: tasks that were held back because it was in the background may start.
    case cameToFront
    case note(Decision, String?, inputs: [String: String] = [:])
}

/// The terms of an app's background time.
package struct BackgroundTerms: Hashable, Sendable {
    package var policy: BackgroundPolicy
    package var source: BackgroundStatus.PolicySource
    /// Seconds between being told and the end.
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

    /// The user's word on the app goes before its entry's, and that before the device's.
    package init(
        user: BackgroundPolicy?, manifest: BackgroundPolicy?, device: BackgroundPolicy, lead: Double,
        fileLocks: FileLockPolicy = .warn
    ) {
        self.init(
            policy: user ?? manifest ?? device, source: user != nil ? .app : manifest != nil ? .manifest : .device,
            lead: lead, fileLocks: fileLocks)
    }

    /// A lead of which something is left in the shortest time.
    var effectiveLead: Double { min(lead, policy.seconds / 2) }
}

/// Why a background task is refused.
package enum BackgroundTaskRefusal: Error, Hashable, Sendable {
    case notRunning
    case ending
    case tooMany
    case noTime(left: Double)

    package var sentence: String {
        switch self {
        case .notRunning: "The app is not running."
        case .ending: "The app is being ended."
        case .tooMany: "The app has \(Limits.backgroundTasks) open background tasks already, and may have no more."
        case .noTime(let left):
            "Of the app's time in the background \((left * 10).rounded() / 10) s are left, too few for another task."
        }
    }
}
