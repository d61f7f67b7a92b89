package import NightshiftAPI

/// The state of an app's process apart from its identity. It is stored so that a restarted service has the same
/// information.
///
/// Times are in seconds of CLOCK_MONOTONIC, in the boot of the process.
package struct StoredProcessState: Hashable, Sendable, Codable {
    /// Whether the process has ever read commands, which shows that it links the library.
    package var hasConnected = false
    /// Whether the process is a command that runs as background work, and not an app. Only its caller receives events
    /// about it.
    package var isCommand = false
    /// The time when the service launched the process; nil if the service did not launch it.
    package var launchedAt: Double?
    /// Whether the launch was not visible to the user.
    package var isBackgroundLaunch = false
    /// The time until which the process may connect, for the first time or again.
    package var connectBy: Double?
    /// The time until which an app that links the library must have connected and entered its first state.
    package var launchBy: Double?
    /// The commands that the process has not acknowledged, in order.
    package var commands: [PendingCommand] = []
    /// The largest number of a command so far.
    package var lastCommand: Int64 = 0
    /// The wakes that have begun and are not completed.
    package var begun: [BegunWake] = []
    /// The reason why the process was asked to end, and the time at which it is killed.
    package var ending: RequestedEnd?
    /// Whether the app may look different from its last snapshot.
    package var needsSnapshot = false
    /// The background time that was left at the last suspension.
    package var leftAtRest: Double?
    /// Whether the service has already reported the file locks of the process in this background run.
    package var hasToldLocks = false
    /// The desktop's information about the windows of the process. It is nil if the desktop has reported no window, and
    /// in rows of earlier versions.
    package var windows: StoredWindows?

    package init() {}
}

/// The sources from which the service knows whether a process is in the foreground.
package struct StoredWindows: Hashable, Sendable, Codable {
    /// Whether the desktop has ever shown a window of the process in the foreground.
    package var haveBeenInFront = false
    /// Whether the app itself reports when it enters and leaves the foreground.
    package var areToldByApp = false

    package init() {}
}

/// A command that was sent to the process, or that will be sent when the process connects. The process has not
/// acknowledged it.
package struct PendingCommand: Hashable, Sendable, Codable {
    package var command: ProcessCommand
    /// The time until which the command must be acknowledged. It is nil if another limit applies, or if the limit
    /// begins with the delivery of the command.
    package var deadline: Double?

    package init(command: ProcessCommand, deadline: Double? = nil) {
        self.command = command
        self.deadline = deadline
    }
}

/// A wake that has begun and is not completed.
package struct BegunWake: Hashable, Sendable, Codable {
    package var wake: WantedWake
    /// The number of the command that asks the app to handle the wake; nil until the app is connected.
    package var command: Int64?
    /// The time until which the wake must be completed; nil while the app is visible to the user.
    package var deadline: Double?
    /// The number of the command that warned the app that the time for this wake is nearly over; nil before the
    /// warning.
    package var expiration: Int64?

    package init(wake: WantedWake, deadline: Double?) {
        self.wake = wake
        self.deadline = deadline
    }
}

/// A requested end of a process.
package struct RequestedEnd: Hashable, Sendable, Codable {
    package var cause: ExitCause
    /// The time at which the process is killed; nil after the kill.
    package var deadline: Double?

    package init(cause: ExitCause, deadline: Double?) {
        self.cause = cause
        self.deadline = deadline
    }
}
