package import NightshiftAPI

/// What is kept of an app beside its desktop entry. Times are seconds since 1970.
package struct AppRecord: Hashable, Sendable, Codable {
    package var id: AppID
    package var state: AppState
    package var stateSince: Double
    package var process: StoredProcess?
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
