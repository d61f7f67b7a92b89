package import Foundation

/// The user's permission for an app to use the location (`CLAuthorizationStatus`).
package enum LocationPermission: String, Hashable, Sendable, Codable, CaseIterable {
    /// The value before a decision: the user has not been asked yet, or has not answered.
    case ask
    case denied
    /// The permission while the app is visible to the user. Location events do not wake the app.
    case whenInUse
    case always
}

/// The body of `POST /v1/process/location/authorization`: the permission that an app asks the user for.
package struct LocationAuthorizationRequest: Hashable, Sendable, Codable {
    /// The requested permission: ``LocationPermission/whenInUse`` or ``LocationPermission/always``.
    package var permission: LocationPermission

    package init(permission: LocationPermission) {
        self.permission = permission
    }
}

/// A location as sent to an app. The accuracy is in metres.
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

/// The payload of a wake from the sources `region` and `significantChange`.
package struct LocationEvent: Hashable, Sendable, Codable {
    package var kind: Kind
    /// The region, for a region event.
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

/// A monitored region, and whether the device is inside or outside it.
package struct RegionStatus: Hashable, Sendable, Codable {
    package var region: MonitoredRegion
    package var state: RegionState
    /// The number of region events that woke the app or were sent to it, and the time of the last event.
    package var crossings: Int
    package var lastCrossing: Date?

    package init(region: MonitoredRegion, state: RegionState) {
        self.region = region
        self.state = state
        crossings = 0
    }
}

/// The response of `GET /v1/process/location`: the location state of the calling app.
package struct ProcessLocation: Hashable, Sendable, Codable {
    package var permission: LocationPermission
    /// Whether any source reports locations. Significant changes require a modem or a network location.
    package var canMonitorRegions: Bool
    package var canMonitorSignificantChanges: Bool
    package var regions: [RegionStatus]
    package var monitorsSignificantChanges: Bool
    /// The last known location; nil if it is unknown or the app may not use it.
    package var place: Place?

    package init(permission: LocationPermission) {
        self.permission = permission
        canMonitorRegions = false
        canMonitorSignificantChanges = false
        regions = []
        monitorsSignificantChanges = false
    }
}

/// A `location` event of `GET /v1/process/commands`. It contains the app's location permission, and is sent after
/// `hello` and after every change.
package struct LocationNotice: Hashable, Sendable, Codable {
    package var permission: LocationPermission

    package init(permission: LocationPermission) {
        self.permission = permission
    }
}

/// The response of `GET /v1/location/{app}`: the location monitoring of one app, for the user. It contains no
/// locations.
package struct AppLocationStatus: Hashable, Sendable, Codable {
    package var app: AppID
    package var name: String
    package var permission: LocationPermission
    /// The reason that the app gives for using the location (`X-Nightshift-LocationReason`).
    package var reason: String?
    package var regions: [RegionStatus]
    package var monitorsSignificantChanges: Bool
    /// The number of wakes for region events and significant changes since the app was installed.
    package var wakes: Int
    /// The number of seconds for which the app used the receiver today.
    package var receiverSecondsToday: Double
    /// The number of seconds for which the app used the receiver since it was installed.
    package var receiverSeconds: Double
    /// The location updates that the app currently requests; nil if it requests none.
    package var updates: LocationUpdateStatus?
    /// A sentence that explains whether monitoring is active, and if not, why.
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

/// The response of `GET /v1/location`: the location state of the device.
package struct LocationStatus: Hashable, Sendable, Codable {
    /// The location sources `gpsd`, `geoclue`, `modem` and `override`, each with a sentence about its state.
    package var sources: [SourceStatus]
    /// The time of the next request to the receiver; nil while no request is planned.
    package var nextFix: Date?
    package var apps: [AppLocationStatus]

    package struct SourceStatus: Hashable, Sendable, Codable {
        package var name: String
        package var isAvailable: Bool
        package var sentence: String
        /// Whether the source is available but does not respond; nil if it responds.
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

/// The body of `PATCH /v1/location/{app}`: the user's settings for the app.
package struct AppLocationChange: Hashable, Sendable, Codable {
    package var permission: LocationPermission?

    package init(permission: LocationPermission? = nil) {
        self.permission = permission
    }
}
