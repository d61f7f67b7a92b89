package import NightshiftAPI
package import Scheduler
package import Store

/// The stored refresh state of one app.
package struct RefreshRecord: Hashable, Sendable, Codable {
    package var planned: RefreshApp
    package var known: KnownApp
}

/// The settings of an app, made by the app and the user, and its fetches. The planner stores its state separately.
package struct KnownApp: Hashable, Sendable, Codable {
    /// The interval that the app has set.
    package var appInterval: RefreshInterval?
    /// The interval that the user has set. It takes precedence over the app's interval.
    package var userInterval: RefreshInterval?
    /// The fetches, oldest first, at most ``Limits/fetches``. A fetch under way is the last element, and has no end.
    package var fetches: [FetchRecord] = []
    /// Whether the device was woken for the fetch under way.
    package var wokeDevice = false
    /// The time since which the entry is missing, in seconds of uptime over all boots. Uptime is used so that a wrong
    /// wall clock does not cause deletions.
    package var goneSeen: Double?

    /// The history of the app's processing tasks; nil before the first of them has ended, and in records of earlier
    /// versions.
    package var processing: ProcessingHistory?

    package init() {}

    package var underWay: FetchRecord? { fetches.last.flatMap { $0.ended == nil ? $0 : nil } }
}

/// The stored refresh state of the device.
package struct DeviceRefreshRecord: Hashable, Sendable, Codable {
    package var budget: RefreshBudget
    package var rhythm: UsageModel
    /// The user's switch of background refresh for all apps.
    package var isOn: Bool
    /// Whether the device has ever reported that it is idle.
    package var tellsUse: Bool
}

/// A wake that background refresh requests. It is stored as a row, and the app's machine handles it.
package struct RefreshWake: Hashable, Sendable {
    package var app: AppID
    package var source: WakeSource
    package var key: String
    package var task: ScheduledTask?
    /// The seconds after which the wake is dropped if it has not begun.
    package var timeout: Double?
}

/// The end of a wake, together with the data that background refresh needs.
package struct RefreshEnd: Hashable, Sendable {
    package var row: StoredWakeEnd
    /// The number of bytes that the app's transfers have moved since its last fetch began.
    package var bytes: Int64

    package init(row: StoredWakeEnd, bytes: Int64) {
        self.row = row
        self.bytes = bytes
    }
}

/// A row that is written, or a set of rows that is deleted, once.
package enum RefreshOutput: Hashable, Sendable {
    case begin(RefreshWake)
    /// The app was removed, so its rows are deleted.
    case remove(AppID)
    /// The use of an app is deleted from the journal; nil means the use of all apps.
    case forgetUse(AppID?)

    package var wake: RefreshWake? {
        if case .begin(let wake) = self { wake } else { nil }
    }
}

/// The changes that one transaction writes.
package struct RefreshChanges: Sendable {
    package var outputs: [RefreshOutput]
    package var apps: [AppID: RefreshRecord] = [:]
    package var device: DeviceRefreshRecord?
    /// The task rows to write, with their content; nil for rows to delete.
    package var tasks: [StoredScheduledTask.Key: StoredScheduledTask?] = [:]
    package var entries: [JournalEntry]
    /// The row number of the last end of a wake that was handled.
    package var endsThrough: Int64?

    package var isEmpty: Bool {
        outputs.isEmpty && apps.isEmpty && device == nil && tasks.isEmpty && entries.isEmpty && endsThrough == nil
    }
}

/// An effect that is executed after the changes are on disk or could not be written.
package enum RefreshEffect: Hashable, Sendable {
    /// The effect that sends an app the expiration of a wake that is to end.
    case expire(AppID, WakeSource, String)
    /// The effect that sends an app its availability of background refresh.
    case availability(AppID)
}
