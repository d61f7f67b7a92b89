package import Foundation

/// The query of `GET /v1/process/location/updates`: how the calling app wants to learn where the device is, while it runs.
package struct LocationUpdateRequest: Hashable, Sendable {
    /// Metres of accuracy wanted (`desiredAccuracy`); at least ``finestAccuracy`` for what is asked of the sources.
    package var accuracy: Double
    /// Metres between two places, at least (`distanceFilter`); 0 for every place.
    package var distance: Double
    /// Whether one place is enough (`requestLocation`).
    package var isOnce: Bool

    /// Metres: about what a satellite receiver in the open can tell.
    package static let finestAccuracy = 5.0
    /// Metres: half of the way around the earth.
    package static let longest = SetPlace.worstAccuracy

    package init(accuracy: Double, distance: Double = 0, isOnce: Bool = false) {
        self.accuracy = accuracy
        self.distance = distance
        self.isOnce = isOnce
    }
}

/// An event `update` of `GET /v1/process/location/updates`: a place, or why nothing is known.
package struct LocationUpdate: Hashable, Sendable, Codable {
    package var place: Place?
    package var failure: Failure?

    package enum Failure: String, Hashable, Sendable, Codable, CaseIterable {
        /// No source told a place in time.
        case unknown
        /// The user does not allow it.
        case denied
    }

    /// Nothing yet; what is known is filled in.
    package init() {}

    package init(place: Place) {
        self.place = place
    }

    package init(failure: Failure) {
        self.failure = failure
    }
}

/// An app's requests for the place while it runs, for the people who ask what keeps the receiver on.
package struct LocationUpdateStatus: Hashable, Sendable, Codable {
    /// Metres: the finest accuracy that the app asks for.
    package var accuracy: Double
    /// When the oldest of its requests began.
    package var since: Date
    /// Whether the app is given places now; false while it is suspended or not allowed.
    package var isOn: Bool

    package init(accuracy: Double, since: Date, isOn: Bool) {
        self.accuracy = accuracy
        self.since = since
        self.isOn = isOn
    }
}
