package import NightshiftAPI

/// What is kept of an app beside its desktop entry. Times are seconds since 1970.
package struct AppRecord: Hashable, Sendable, Codable {
    package var id: AppID
    package var state: AppState
    package var stateSince: Double
    package var process: StoredProcess?
    /// Nil without a process, and in a record that an earlier version has written.
    package var processState: StoredProcessState?
    package var isForceQuit: Bool
    /// Whether a process of it has ever read commands: then an exit status alone completes nothing.
    package var linksLibrary: Bool
    package var lastExit: AppExit?
    /// Background launches in a row that ended in a fault, and when the last of them did.
    package var faults: Int
    package var faultAt: Double
    /// How long tasks that it adds in the background do not start, from a moment on.
    package var startDelay: Double
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

/// What is kept of an app's background time.
package struct BackgroundRecord: Hashable, Sendable, Codable {
    /// The user's word, which goes before the entry's and the device's.
    package var policy: BackgroundPolicy?
    /// Those that have ended, oldest first; at most ``Limits/stints``.
    package var stints: [BackgroundStint] = []
    /// The one that goes on.
    package var stint: OpenStint?
    /// Background tasks that have not ended, in the order in which they began.
    package var tasks: [StoredBackgroundTask] = []

    package init() {}
}

/// A stint that goes on. Its seconds are those of CLOCK_MONOTONIC, within the boot of the app's process.
package struct OpenStint: Hashable, Sendable, Codable {
    /// Its ``BackgroundStint/seconds`` are those up to ``countsFrom``.
    package var stint: BackgroundStint
    /// Since when its time passes; nil while that stands still.
    package var countsFrom: Double?
    /// Seconds that were left at ``countsFrom``, or are left while time stands still; nil without a limit.
    package var left: Double?
    /// Whether the app was told that its time is nearly over.
    package var isExpiring = false
    /// Since when it holds the device awake, in seconds since 1970.
    package var heldSince: Double?

    package init(stint: BackgroundStint, countsFrom: Double, left: Double?) {
        self.stint = stint
        self.countsFrom = countsFrom
        self.left = left
    }
}

package struct StoredBackgroundTask: Hashable, Sendable, Codable {
    /// The process that began it, where that is not the app's own.
    package var guest: Int32?
    /// The process's own number for it.
    package var number: Int64
    package var name: String
    /// Seconds since 1970.
    package var since: Double

    package init(guest: Int32?, number: Int64, name: String, since: Double) {
        self.guest = guest
        self.number = number
        self.name = name
        self.since = since
    }
}

extension KeyedDecodingContainer {
    /// Records that an earlier service wrote have none. What the compiler makes of ``AppRecord`` calls this.
    func decode(_ type: BackgroundRecord.Type, forKey key: Key) throws -> BackgroundRecord {
        try decodeIfPresent(type, forKey: key) ?? BackgroundRecord()
    }
}

/// A process that is not taken for another one with the same number.
package struct StoredProcess: Hashable, Sendable, Codable {
    package var processID: Int32
    /// Clock ticks between boot and its start.
    package var startTime: UInt64
    package var bootID: String
    /// Whether the service launched it and may suspend it.
    package var isManaged: Bool

    package init(processID: Int32, startTime: UInt64, bootID: String, isManaged: Bool) {
        self.processID = processID
        self.startTime = startTime
        self.bootID = bootID
        self.isManaged = isManaged
    }
}
