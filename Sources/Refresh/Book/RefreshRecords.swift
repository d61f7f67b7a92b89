package import NightshiftAPI
package import Scheduler
package import Store

/// What is kept of the refresh of one app.
package struct RefreshRecord: Hashable, Sendable, Codable {
    package var planned: RefreshApp
    package var known: KnownApp
}

/// What an app, its user and its fetches have said, beside what the planner knows.
package struct KnownApp: Hashable, Sendable, Codable {
    /// The interval that the app itself has set.
    package var appInterval: RefreshInterval?
    /// The user's word, which goes before the app's.
    package var userInterval: RefreshInterval?
    /// Oldest first, the last one without an end where it is under way; at most ``Limits/fetches``.
    package var fetches: [FetchRecord] = []
    /// Whether the device was woken for the fetch under way.
    package var wokeDevice = false
    /// Since when its entry is gone, in seconds that were seen to pass: a wall clock that is wrong deletes nothing.
    package var goneSeen: Double?

    /// The history of its processing tasks; nil before the first has ended, and in records of earlier versions.
    package var processing: ProcessingHistory?

    package init() {}

    package var underWay: FetchRecord? { fetches.last.flatMap { $0.ended == nil ? $0 : nil } }
}

/// What is kept of the refresh of the device.
package struct DeviceRefreshRecord: Hashable, Sendable, Codable {
    package var budget: RefreshBudget
    package var rhythm: UsageModel
    /// The user's switch for all apps.
    package var isOn: Bool
    /// Whether the device has ever told that nobody uses it.
    package var tellsUse: Bool
}

/// A wake that the book wants: a row, of which the app's machine makes the rest.
package struct RefreshWake: Hashable, Sendable {
    package var app: AppID
    package var source: WakeSource
    package var key: String
    package var task: ScheduledTask?
    /// Seconds after which it is given up unless it has begun.
    package var patience: Double?
}

/// The end of a wake, as it is taken into account.
package struct RefreshEnd: Hashable, Sendable {
    package var row: StoredWakeEnd
    /// What the app's transfers have moved since its last fetch began.
    package var bytes: Int64

    package init(row: StoredWakeEnd, bytes: Int64) {
        self.row = row
        self.bytes = bytes
    }
}

/// What one transaction writes.
package struct RefreshChanges: Sendable {
    package var removed: Set<AppID> = []
    package var apps: [AppID: RefreshRecord] = [:]
    package var device: DeviceRefreshRecord?
    /// Rows with what they hold; nil for those that go.
    package var tasks: [StoredScheduledTask.Key: StoredScheduledTask?] = [:]
    package var begun: [RefreshWake] = []
    package var entries: [JournalEntry] = []
    /// Whose use the journal is to forget; nil within for everybody's.
    package var forgotten: [AppID?] = []
    /// Ends of wakes up to this one are taken into account.
    package var endsThrough: Int64?

    package var isEmpty: Bool {
        removed.isEmpty && apps.isEmpty && device == nil && tasks.isEmpty && begun.isEmpty && entries.isEmpty
            && forgotten.isEmpty && endsThrough == nil
    }
}

/// What is done once that is on disk, or could not be written.
package enum RefreshEffect: Hashable, Sendable {
    /// A wake is to end: its expiration handler is called.
    case expire(AppID, WakeSource, String)
    /// The app is told whether it is refreshed.
    case availability(AppID)
}
