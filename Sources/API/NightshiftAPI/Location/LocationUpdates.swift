package import Foundation

/// The query of `GET /v1/process/location/updates`: the location updates that the calling app requests while it runs.
package struct LocationUpdateRequest: Hashable, Sendable {
    /// The requested accuracy in metres (`desiredAccuracy`). Requests to the sources use at least ``finestAccuracy``.
    package var accuracy: Double
    /// The minimum distance in metres between two updates (`distanceFilter`); 0 for every update.
    package var distance: Double
    /// Whether a single update is requested (`requestLocation`).
    package var isOnce: Bool

    /// The approximate accuracy in metres of a satellite receiver outdoors.
    package static let finestAccuracy = 5.0
    /// Half of the earth's circumference, in metres.
    package static let longest = LocationOverride.worstAccuracy

    package init(accuracy: Double, distance: Double = 0, isOnce: Bool = false) {
        self.accuracy = accuracy
        self.distance = distance
        self.isOnce = isOnce
    }
}

/// An `update` event of `GET /v1/process/location/updates`: a location, or the reason why it is unknown.
package struct LocationUpdate: Hashable, Sendable, Codable {
    package var place: Place?
    package var failure: Failure?

    package enum Failure: String, Hashable, Sendable, Codable, CaseIterable {
        /// The problem that no source reported a location in time.
        case unknown
        /// The problem that the user does not allow the app to use the location.
        case denied
    }

    /// Creates an empty update. The known values are added later.
    package init() {}

    package init(place: Place) {
        self.place = place
    }

    package init(failure: Failure) {
        self.failure = failure
    }
}

/// The location updates that an app requests while it runs. This status shows people why the receiver is on.
package struct LocationUpdateStatus: Hashable, Sendable, Codable {
    /// The finest accuracy that the app requests, in metres.
    package var accuracy: Double
    /// The start of the oldest request.
    package var since: Date
    /// Whether the app currently receives updates. It is false while the app is suspended or has no permission.
    package var isOn: Bool

    package init(accuracy: Double, since: Date, isOn: Bool) {
        self.accuracy = accuracy
        self.since = since
        self.isOn = isOn
    }
}
