package import Foundation

/// Whether an app may learn where the device is: its user's word (`CLAuthorizationStatus`).
package enum LocationPermission: String, Hashable, Sendable, Codable, CaseIterable {
    /// Its user was not asked yet, or has not answered.
    case ask
    case denied
    /// While its user sees it. Nothing wakes it.
    case whenInUse
    case always
}

/// What an app wants its user to be asked for: `POST /v1/process/location/authorization`.
package struct LocationAuthorizationRequest: Hashable, Sendable, Codable {
    /// ``LocationPermission/whenInUse`` or ``LocationPermission/always``.
    package var permission: LocationPermission

    package init(permission: LocationPermission) {
        self.permission = permission
    }
}

/// A place that an app is told. The accuracy is in metres.
package struct Place: Hashable, Sendable, Codable {
    package var latitude: Double
    package var longitude: Double
    package var accuracy: Double
    package var time: Date

    package init(_ place: Coordinate, accuracy: Double, time: Date) {
        latitude = place.latitude
        longitude = place.longitude
        self.accuracy = accuracy
        self.time = time
    }
}

/// The payload of a wake of the sources `region` and `significantChange`: what has happened.
package struct LocationEvent: Hashable, Sendable, Codable {
    package var kind: Kind
    /// The region, for a crossing.
    package var region: MonitoredRegion?
    package var place: Place?
    package var time: Date

    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        case entered
        case left
        case changed
    }

    package init(kind: Kind, time: Date) {
        self.kind = kind
        self.time = time
    }
}

/// A region with the side on which the device is.
package struct RegionStatus: Hashable, Sendable, Codable {
    package var region: MonitoredRegion
    package var state: RegionState
    /// How often its crossings have woken the app, or were told to it, and when last.
    package var crossings: Int
    package var lastCrossing: Date?

    package init(region: MonitoredRegion, state: RegionState) {
        self.region = region
        self.state = state
        crossings = 0
    }
}

/// `GET /v1/process/location`: what the calling app has of location.
package struct ProcessLocation: Hashable, Sendable, Codable {
    package var permission: LocationPermission
    /// Whether some source tells places at all; significant changes need a modem or the network's word.
    package var canMonitorRegions: Bool
    package var canMonitorSignificantChanges: Bool
    package var regions: [RegionStatus]
    package var monitorsSignificantChanges: Bool
    /// The last place that is known, where the app may learn it.
    package var place: Place?

    package init(permission: LocationPermission) {
        self.permission = permission
        canMonitorRegions = false
        canMonitorSignificantChanges = false
        regions = []
        monitorsSignificantChanges = false
    }
}

/// An event `location` of `GET /v1/process/commands`: the user's word, now and whenever it changes.
package struct LocationNotice: Hashable, Sendable, Codable {
    package var permission: LocationPermission

    package init(permission: LocationPermission) {
        self.permission = permission
    }
}

/// `GET /v1/location/{app}`: one app's monitoring as its user sees it. Places are not in it.
package struct AppLocationStatus: Hashable, Sendable, Codable {
    package var app: AppID
    package var name: String
    package var permission: LocationPermission
    /// Why the app wants it, in its own words (`X-Nightshift-LocationReason`).
    package var reason: String?
    package var regions: [RegionStatus]
    package var monitorsSignificantChanges: Bool
    /// Wakes for its crossings and changes since it was installed, and seconds that the receiver was on for it, today and in all.
    package var wakes: Int
    package var receiverSecondsToday: Double
    package var receiverSeconds: Double
    /// Where it asks for the place now; nil where it does not.
    package var updates: LocationUpdateStatus?
    /// Whether monitoring goes on, and why not, in a sentence.
    package var sentence: String

    package init(app: AppID, name: String, permission: LocationPermission) {
        self.app = app
        self.name = name
        self.permission = permission
        regions = []
        monitorsSignificantChanges = false
        wakes = 0
        receiverSecondsToday = 0
        receiverSeconds = 0
        sentence = ""
    }
}

/// `GET /v1/location`: location on this device.
package struct LocationStatus: Hashable, Sendable, Codable {
    /// What tells places: `gpsd`, `geoclue`, `modem`, `override`, with its state in a sentence each.
    package var sources: [SourceStatus]
    /// When the receiver is asked next; nil while it is off.
    package var nextFix: Date?
    package var apps: [AppLocationStatus]

    package struct SourceStatus: Hashable, Sendable, Codable {
        package var name: String
        package var isAvailable: Bool
        package var sentence: String
        /// Whether it is there and does not answer; nil where it does.
        package var isSilent: Bool?

        package init(name: String, isAvailable: Bool, sentence: String) {
            self.name = name
            self.isAvailable = isAvailable
            self.sentence = sentence
        }
    }

    package init(sources: [SourceStatus], apps: [AppLocationStatus]) {
        self.sources = sources
        self.apps = apps
    }
}

/// `PATCH /v1/location/{app}`: its user's word.
package struct AppLocationChange: Hashable, Sendable, Codable {
    package var permission: LocationPermission?

    package init(permission: LocationPermission? = nil) {
        self.permission = permission
    }
}
