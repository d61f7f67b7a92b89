package import NightshiftAPI
package import Scheduler

/// A time on both clocks that the location feature uses.
package struct LocationMoment: Hashable, Sendable {
    /// The number of seconds since boot, including sleep. Times of fixes are on this clock.
    package var bootSeconds: Double
    package var local: LocalMoment

    package init(bootSeconds: Double, local: LocalMoment) {
        self.bootSeconds = bootSeconds
        self.local = local
    }

    /// The number of seconds since 1970.
    package var seconds: Double { local.seconds }

    /// Returns the wall-clock time for a time in boot seconds, based on the current wall clock.
    package func wallSeconds(of time: Double) -> Double { seconds - bootSeconds + time }
}

/// The stored location state of one app.
package struct LocationRecord: Hashable, Sendable, Codable {
    package var permission = LocationPermission.ask
    /// Whether the user, after allowing *when in use*, has been asked for *always*. This is asked only once.
    package var wasAskedForAlways = false
    /// The monitored regions by their identifiers.
    package var regions: [String: KnownRegion] = [:]
    package var monitorsSignificantChanges = false
    package var change = SignificantChange()
    /// The total number of region events and significant changes of the app.
    package var wakes = 0
    package var receiver = ReceiverTime()
    /// The time since which the desktop entry is missing, in seconds of uptime over all boots. Uptime is used so that a
    /// wrong wall clock does not delete the record.
    package var goneSeen: Double?

    package init() {}
}

package struct KnownRegion: Hashable, Sendable, Codable {
    package var region: MonitoredRegion
    /// The number of events of the region.
    package var crossings = 0
    /// The time of the region's last event, in seconds since 1970.
    package var lastCrossing: Double?

    package init(_ region: MonitoredRegion) { self.region = region }
}

/// The number of seconds for which the receiver was on for an app.
package struct ReceiverTime: Hashable, Sendable, Codable {
    package private(set) var seconds = 0.0
    private var today = 0.0
    private var day = 0

    package init() {}

    package mutating func add(_ share: Double, _ now: LocalMoment) {
        today = seconds(on: now) + share
        day = now.day
        seconds += share
    }

    /// Returns the number of seconds on the current day.
    package func seconds(on now: LocalMoment) -> Double { now.day == day ? today : 0 }
}

/// The stored location state of the device: on which side of each region's boundary the device is. The record does not
/// contain the last location.
package struct DeviceLocationRecord: Hashable, Sendable, Codable {
    /// The boot to which the record's boot seconds belong.
    package var bootID: String
    package var plan: LocationPlan
}

/// A wake that the location feature requests. It becomes a database row, which the app's state machine handles.
package struct LocationWake: Hashable, Sendable {
    package var app: AppID
    package var source: WakeSource
    package var key: String
    package var event: LocationEvent
    /// The number of seconds after which the wake is dropped if it has not begun.
    package var timeout: Double?
}

/// A set of waiting wakes to cancel.
package enum LocationCancellation: Hashable, Sendable {
    case all(AppID)
    case region(AppID, String)
    case significantChange(AppID)

    package var app: AppID {
        switch self {
        case .all(let app), .region(let app, _), .significantChange(let app): app
        }
    }

    package func covers(_ wake: LocationWake) -> Bool {
        switch self {
        case .all(let app): wake.app == app
        case .region(let app, let identifier):
            wake.app == app && wake.source == .region && wake.key == identifier
        case .significantChange(let app): wake.app == app && wake.source == .significantChange
        }
    }
}

/// A row that is written, or a set of rows that is deleted, once.
package enum LocationOutput: Hashable, Sendable {
    case begin(LocationWake)
    case cancel(LocationCancellation)
    /// The app was removed, so its rows are deleted.
    case remove(AppID)

    var wake: LocationWake? {
        if case .begin(let wake) = self { wake } else { nil }
    }
}

/// The changes that one transaction writes, in the order of these properties.
package struct LocationChanges: Sendable {
    package var outputs: [LocationOutput]
    package var apps: [AppID: LocationRecord] = [:]
    package var device: DeviceLocationRecord?
    package var entries: [JournalEntry]

    package var isEmpty: Bool { outputs.isEmpty && apps.isEmpty && device == nil && entries.isEmpty }
}

/// An effect that is executed once the changes are on disk, or could not be written.
package enum LocationEffect: Hashable, Sendable {
    /// Sends the app its permission.
    case permission(AppID)
    /// Reports that wake rows of the app were deleted.
    case wakesChanged(AppID)
    /// Asks the user for permission.
    case ask(AppID, name: String, reason: String?, LocationPermission)
}

/// A request to the sources that is in progress.
struct PendingFixRequest: Hashable, Sendable {
    /// The time of the request in boot seconds.
    var since: Double
    /// The wanted accuracy in metres.
    var accuracy: Double
    /// The apps for which the receiver is on.
    var apps: Set<AppID>
    /// Whether the request is made for region boundaries, among other purposes.
    var isForRegions: Bool
    /// Whether the request is made for the location of a new cell, among other purposes.
    var isForChanges: Bool
    /// The number of seconds that the sources have for the request.
    var timeout: Double
    /// Whether this request repeats one whose reported end may have been that of an earlier, cancelled request.
    var isRepeated: Bool
    /// Whether a fix has arrived since the request.
    var isAnswered = false
}

/// The current cell of the modem.
struct KnownCell: Hashable, Sendable {
    var name: String
    /// The time at which the device entered the cell, in boot seconds.
    var since: Double
    /// Whether the location of the cell is known, or the event about the cell was sent without a location.
    var isPlaced: Bool
}
