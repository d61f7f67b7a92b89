package import NightshiftAPI

/// The stored state of an app, apart from its desktop entry. Times are seconds since 1970.
package struct AppRecord: Hashable, Sendable, Codable {
    package var id: AppID
    package var state: AppState
    package var stateSince: Double
    package var process: StoredProcess?
    /// The state of the app's process; nil without a process, and in a record written by an earlier version.
    package var processState: StoredProcessState?
    package var isForceQuit: Bool
    /// Whether a process of the app has ever read commands. If so, its exit status alone completes no wake.
    package var linksLibrary: Bool
    package var lastExit: AppExit?
    /// The number of consecutive background launches that ended in a crash.
    package var faults: Int
    /// The time of the last of these crashes.
    package var faultAt: Double
    /// The delay in seconds before tasks that the app adds in the background start.
    package var startDelay: Double
    /// The time from which the start delay applies.
    package var startDelayFrom: Double
    package var snapshotTakenAt: Double?
    package var background: BackgroundRecord

    package init(id: AppID, now: Double) {
        self.id = id
        state = .notRunning
        stateSince = now
        isForceQuit = false
        linksLibrary = false
        faults = 0
        faultAt = 0
        startDelay = 0
        startDelayFrom = 0
        background = BackgroundRecord()
    }
}

/// The stored background time of an app.
package struct BackgroundRecord: Hashable, Sendable, Codable {
    /// The user's setting, which takes precedence over the desktop entry and the device.
    package var policy: BackgroundPolicy?
    /// The background runs that have ended, oldest first; at most ``Limits/stints``.
    package var stints: [BackgroundRun] = []
    /// The current background run.
    package var stint: OpenBackgroundRun?
    /// Background tasks that have not ended, in the order in which they began.
    package var tasks: [StoredBackgroundTask] = []

    package init() {}
}

/// A current background run. Its seconds are those of CLOCK_MONOTONIC, in the boot of the app's process.
package struct OpenBackgroundRun: Hashable, Sendable, Codable {
    /// The background run. Its ``BackgroundRun/seconds`` count up to ``countsFrom``.
    package var stint: BackgroundRun
    /// The time since which the background time has been running; nil while it is stopped.
    package var countsFrom: Double?
    /// Seconds that were left at ``countsFrom``, or are left while the time is stopped; nil without a limit.
    package var left: Double?
    /// Whether the app was notified that its time is nearly over.
    package var isExpiring = false
    /// The time in seconds since 1970 since which the run has held the device awake.
    package var heldSince: Double?

    package init(stint: BackgroundRun, countsFrom: Double, left: Double?) {
        self.stint = stint
        self.countsFrom = countsFrom
        self.left = left
    }
}

package struct StoredBackgroundTask: Hashable, Sendable, Codable {
    /// The process that began the task, if it is not the app's main process.
    package var guest: Int32?
    /// The number that the process gave the task.
    package var number: Int64
    package var name: String
    /// The start in seconds since 1970.
    package var since: Double

    package init(guest: Int32?, number: Int64, name: String, since: Double) {
        self.guest = guest
        self.number = number
        self.name = name
        self.since = since
    }
}

extension KeyedDecodingContainer {
    /// Returns an empty record if the key is missing, as in records of earlier versions. The decoder that the compiler
    /// generates for ``AppRecord`` calls this overload.
    func decode(_ type: BackgroundRecord.Type, forKey key: Key) throws -> BackgroundRecord {
        try decodeIfPresent(type, forKey: key) ?? BackgroundRecord()
    }
}

/// The identity of a process, which distinguishes it from later processes with the same number.
package struct StoredProcess: Hashable, Sendable, Codable {
    package var processID: Int32
    /// The start time in clock ticks since boot.
    package var startTime: UInt64
    package var bootID: String
    /// Whether the service launched the process and may suspend it.
    package var isManaged: Bool

    package init(processID: Int32, startTime: UInt64, bootID: String, isManaged: Bool) {
        self.processID = processID
        self.startTime = startTime
        self.bootID = bootID
        self.isManaged = isManaged
    }
}
