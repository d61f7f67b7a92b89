package import NightshiftAPI

/// The stored state of an app, apart from its desktop entry. Times are in seconds since 1970.
package struct AppRecord: Hashable, Sendable, Codable {
    package var id: AppID
    package var state: AppState
    package var stateSince: Double
    package var process: StoredProcess?
    /// The state of the app's process. It is nil if the app has no process, or in a record that an earlier version
    /// wrote.
    package var processState: StoredProcessState?
    package var isForceQuit: Bool
    /// Whether a process of the app has ever read commands. If so, the exit status of a process does not complete a
    /// wake.
    package var linksLibrary: Bool
    package var lastExit: AppExit?
    /// The number of consecutive background launches that ended in a crash.
    package var faults: Int
    /// The time of the last background launch that ended in a crash.
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
    /// The user's setting for the background time. It takes precedence over the desktop entry and the device.
    package var policy: BackgroundPolicy?
    /// The background runs that have ended, with the oldest first. There are at most ``Limits/backgroundRuns``.
    package var stints: [BackgroundRun] = []
    /// The current background run.
    package var openRun: OpenBackgroundRun?
    /// The background tasks that have not ended, in the order in which they began.
    package var tasks: [StoredBackgroundTask] = []

    package init() {}

    /// The keys in stored records. Records of earlier versions have the key `stint`.
    private enum CodingKeys: String, CodingKey {
        case policy, stints, tasks
        case openRun = "stint"
    }
}

/// A current background run. Its times are in seconds of CLOCK_MONOTONIC, in the boot of the app's process.
package struct OpenBackgroundRun: Hashable, Sendable, Codable {
    /// The background run so far. Its ``BackgroundRun/seconds`` include the time until ``countsFrom``.
    package var run: BackgroundRun
    /// The time since which the background time has been running; nil while it is stopped.
    package var countsFrom: Double?
    /// The number of seconds of background time that were left at ``countsFrom``, or are left while the time is
    /// stopped; nil if there is no limit.
    package var left: Double?
    /// Whether the app was notified that its time is nearly over.
    package var isExpiring = false
    /// The time in seconds since 1970 since which the run has kept the device awake.
    package var heldSince: Double?

    package init(run: BackgroundRun, countsFrom: Double, left: Double?) {
        self.run = run
        self.countsFrom = countsFrom
        self.left = left
    }

    /// The keys in stored records. Records of earlier versions have the key `stint`.
    private enum CodingKeys: String, CodingKey {
        case countsFrom, left, isExpiring, heldSince
        case run = "stint"
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
