package import NightshiftAPI
package import Scheduler

/// A moment on the clocks that location counts in.
package struct LocationMoment: Hashable, Sendable {
    /// The clock of fixes: seconds since boot, time asleep included.
    package var bootSeconds: Double
    package var local: LocalMoment

    package init(bootSeconds: Double, local: LocalMoment) {
        self.bootSeconds = bootSeconds
        self.local = local
    }

    /// Seconds since 1970.
    package var seconds: Double { local.seconds }

    /// What the wall clock showed, as it goes now, at a moment of the clock of fixes.
    package func wallSeconds(of time: Double) -> Double { seconds - bootSeconds + time }
}

/// What is kept of one app.
package struct LocationRecord: Hashable, Sendable, Codable {
    package var permission = LocationPermission.ask
    /// Its user has allowed it *when in use*, and was asked for *always*: once is enough.
    package var wasAskedForAlways = false
    /// By identifier.
    package var regions: [String: KnownRegion] = [:]
    package var monitorsSignificantChanges = false
    package var change = SignificantChange()
    /// Crossings and changes that were told.
    package var wakes = 0
    package var receiver = ReceiverTime()
    /// Since when its entry is gone, in seconds that were seen to pass: a wall clock that is wrong deletes nothing.
    package var goneSeen: Double?

    package init() {}
}

package struct KnownRegion: Hashable, Sendable, Codable {
    package var region: MonitoredRegion
    /// How many were told.
    package var crossings = 0
    /// Seconds since 1970.
    package var lastCrossing: Double?

    package init(_ region: MonitoredRegion) { self.region = region }
}

/// Seconds that the receiver was on for an app.
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

    /// Those of the day of `now`.
    package func seconds(on now: LocalMoment) -> Double { now.day == day ? today : 0 }
}

/// What is kept of the device: on which side of each boundary it is. The last place is not in it.
package struct DeviceLocationRecord: Hashable, Sendable, Codable {
    /// The boot whose clock the apps' records count in.
    package var bootID: String
    package var plan: LocationPlan
}

/// A wake that the book wants: a row, of which the app's machine makes the rest.
package struct LocationWake: Hashable, Sendable {
    package var app: AppID
    package var source: WakeSource
    package var key: String
    package var event: LocationEvent
    /// Seconds after which it is given up unless it has begun.
    package var patience: Double?
}

/// What an app is not to be told any more, if it was not yet.
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

/// What one transaction writes, in this order.
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

/// What is done once that is on disk, or could not be written.
package enum LocationEffect: Hashable, Sendable {
    /// The app is told its user's word.
    case permission(AppID)
    /// Rows of the app in `wakes` are gone.
    case wakesChanged(AppID)
    /// Its user is asked.
    case ask(AppID, name: String, reason: String?, LocationPermission)
}

/// A fix that the sources were asked for and have not given up.
struct FixRequest: Hashable, Sendable {
    /// On the clock of fixes.
    var since: Double
    /// Metres.
    var accuracy: Double
    /// Those for whom the receiver is on.
    var apps: Set<AppID>
    /// Whether it is, among others, for the boundary of a region.
    var isForRegions: Bool
    /// Whether it is, among others, for the place of a new cell.
    var isForChanges: Bool
    /// Seconds that the sources have for it.
    var patience: Double
    /// Whether it repeats one that ended for another reason than its own.
    var isRepeated: Bool
    /// Whether a fix has come since.
    var isAnswered = false
}

/// What the modem has said.
struct KnownCell: Hashable, Sendable {
    var name: String
    /// Since when the device is in it, on the clock of fixes.
    var since: Double
    /// Whether it is known where that is, or was told without.
    var isPlaced: Bool
}
