package import NightshiftAPI
package import Scheduler

/// A time on the clocks that location uses.
package struct LocationMoment: Hashable, Sendable {
    /// The seconds since boot, including sleep. Times of fixes are on this clock.
    package var bootSeconds: Double
    package var local: LocalMoment

    package init(bootSeconds: Double, local: LocalMoment) {
        self.bootSeconds = bootSeconds
        self.local = local
    }

    /// Seconds since 1970.
    package var seconds: Double { local.seconds }

    /// Returns the wall-clock time of a time in boot seconds, based on the present wall clock.
    package func wallSeconds(of time: Double) -> Double { seconds - bootSeconds + time }
}

/// The stored location state of one app.
package struct LocationRecord: Hashable, Sendable, Codable {
    package var permission = LocationPermission.ask
    /// Whether the user has allowed *when in use* and was asked for *always*: this is asked only once.
    package var wasAskedForAlways = false
    /// The regions by identifier.
    package var regions: [String: KnownRegion] = [:]
    package var monitorsSignificantChanges = false
    package var change = SignificantChange()
    /// The number of region events and significant changes.
    package var wakes = 0
    package var receiver = ReceiverTime()
    /// The time since which the entry is missing, in seconds of uptime over all boots: a wrong wall clock deletes
    /// nothing.
    package var goneSeen: Double?

    package init() {}
}

package struct KnownRegion: Hashable, Sendable, Codable {
    package var region: MonitoredRegion
    /// The number of events of this region.
    package var crossings = 0
    /// The time of the last event, in seconds since 1970.
    package var lastCrossing: Double?

    package init(_ region: MonitoredRegion) { self.region = region }
}

/// The seconds that the receiver was on for an app.
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

    /// Returns the seconds of the day of `now`.
    package func seconds(on now: LocalMoment) -> Double { now.day == day ? today : 0 }
}

/// The stored location state of the device: the side of each boundary on which it is. It does not contain the last
/// location.
package struct DeviceLocationRecord: Hashable, Sendable, Codable {
    /// The boot in which the records' boot seconds were measured.
    package var bootID: String
    package var plan: LocationPlan
}

/// A wake requested by location. It becomes a row, which the app's machine handles.
package struct LocationWake: Hashable, Sendable {
    package var app: AppID
    package var source: WakeSource
    package var key: String
    package var event: LocationEvent
    /// The seconds after which the wake is dropped unless it has begun.
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

/// The changes that one transaction writes, in this order.
package struct LocationChanges: Sendable {
    package var removed: Set<AppID> = []
    package var cancelled: [LocationCancellation] = []
    package var apps: [AppID: LocationRecord] = [:]
    package var device: DeviceLocationRecord?
    package var begun: [LocationWake] = []
    package var entries: [JournalEntry] = []

    package init() {}

    package var isEmpty: Bool {
        removed.isEmpty && cancelled.isEmpty && apps.isEmpty && device == nil && begun.isEmpty && entries.isEmpty
    }
}

/// An effect to execute once the changes are on disk, or could not be written.
package enum LocationEffect: Hashable, Sendable {
    /// Sends the app its permission.
    case permission(AppID)
    /// Reports that rows of the app in `wakes` were deleted.
    case wakesChanged(AppID)
    /// Asks the user for permission.
    case ask(AppID, name: String, reason: String?, LocationPermission)
}

/// A request to the sources that has not ended.
struct PendingFixRequest: Hashable, Sendable {
    /// The time of the request in boot seconds.
    var since: Double
    /// The wanted accuracy in metres.
    var accuracy: Double
    /// The apps for which the receiver is on.
    var apps: Set<AppID>
    /// Whether the boundary of a region is one of its purposes.
    var isForRegions: Bool
    /// Whether the location of a new cell is one of its purposes.
    var isForChanges: Bool
    /// The seconds that the sources have for it.
    var timeout: Double
    /// Whether it repeats a request whose reported end may have belonged to an earlier, cancelled request.
    var isRepeated: Bool
    /// Whether a fix has arrived since.
    var isAnswered = false
}

/// The cell that the modem has reported.
struct KnownCell: Hashable, Sendable {
    var name: String
    /// The time since which the device is in it, in boot seconds.
    var since: Double
    /// Whether its location is known, or its event was sent without one.
    var isPlaced: Bool
}
