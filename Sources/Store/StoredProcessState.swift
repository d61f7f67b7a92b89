package import NightshiftAPI

/// What a service knows of an app's process beyond who it is, so that the next service knows as much of it.
///
/// Seconds are those of CLOCK_MONOTONIC, within the boot of the process.
package struct StoredProcessState: Hashable, Sendable, Codable {
    /// Whether it has ever read commands: it links the library.
    package var hasConnected = false
    /// Whether it is a command that somebody runs as background work, not an app: nobody but that caller hears of it.
    package var isCommand = false
    /// When the service launched it; nil where it did not.
    package var launchedAt: Double?
    /// Whether it was launched without its user seeing it.
    package var isBackgroundLaunch = false
    /// Until when it may still connect, for the first time or again.
    package var connectBy: Double?
    /// Until when an app that is known to link the library has to have connected and entered its first state.
    package var launchBy: Double?
    /// Commands that are not acknowledged, in their order.
    package var commands: [PendingCommand] = []
    /// The greatest number that a command has had.
    package var lastCommand: Int64 = 0
    /// Reasons that it was woken for and has not completed.
    package var begun: [BegunWake] = []
    /// Why its end was asked for, and when it is made to end.
    package var ending: RequestedEnd?
    /// Whether something has changed since the last snapshot.
    package var needsSnapshot = false
    /// Background time that was left when it was last suspended.
    package var leftAtRest: Double?
    /// Whether locks that it holds were told in this stint.
    package var hasToldLocks = false

    package init() {}
}

/// A command that the process was sent, or is sent when it connects, and has not acknowledged.
package struct PendingCommand: Hashable, Sendable, Codable {
    package var command: ProcessCommand
    /// Seconds until which it has to be acknowledged; nil where it has its limit from elsewhere, or from its delivery on.
    package var deadline: Double?

    package init(command: ProcessCommand, deadline: Double? = nil) {
        self.command = command
        self.deadline = deadline
    }
}

/// A wake that has begun and is not completed.
package struct BegunWake: Hashable, Sendable, Codable {
    package var wake: WantedWake
    /// The number of the command that asks the app to handle it; nil until it is connected.
    package var command: Int64?
    /// Seconds until which it has to be completed; nil while the user sees the app.
    package var deadline: Double?
    /// The number of the command that told the app that its time is nearly over; nil until then.
    package var expiration: Int64?

    package init(wake: WantedWake, deadline: Double?) {
        self.wake = wake
        self.deadline = deadline
    }
}

/// An end of a process that was asked for.
package struct RequestedEnd: Hashable, Sendable, Codable {
    package var cause: ExitCause
    /// Seconds at which it is killed; nil when it has been.
    package var deadline: Double?

    package init(cause: ExitCause, deadline: Double?) {
        self.cause = cause
        self.deadline = deadline
    }
}
