/// An order about location. The probe creates a location manager at every launch.
package struct LocationOrder: Sendable, Codable {
    /// The permission that the probe requests from the user, and the point at which it does so.
    package var asking: Asking?
    package var regions: [RegionOrder] = []
    /// The point at which the probe starts to monitor significant changes. Nil means never.
    package var changesFrom: Point?
    /// The point at which the probe stops monitoring significant changes.
    package var changesUntil: Point?

    /// The point at which the probe requests one location. Nil means never.
    package var placeAt: Point?
    /// The points at which the probe starts and stops location updates.
    package var updatesFrom: Point?
    package var updatesUntil: Point?
    /// The accuracy in metres. Nil means the library's default.
    package var accuracy: Double?
    package var distance: Double?

    package struct Asking: Sendable, Codable {
        package var point: Point
        package var forAlways: Bool

        package init(at point: Point, forAlways: Bool = true) {
            self.point = point
            self.forAlways = forAlways
        }
    }

    package init() {}
}

/// A region that a probe monitors.
package struct RegionOrder: Sendable, Codable {
    package var identifier: String
    package var latitude: Double
    package var longitude: Double
    package var radius: Double
    package var notifiesOnEntry = true
    package var notifiesOnExit = true
    /// The point at which monitoring starts. Nil means never, because an earlier launch has started it.
    package var point: Point?
    /// The point at which monitoring stops.
    package var end: Point?
    /// Whether the probe requests the region's state when monitoring has begun.
    package var asksForState = false

    package init(_ identifier: String, _ latitude: Double, _ longitude: Double, radius: Double, at point: Point? = nil)
    {
        self.identifier = identifier
        self.latitude = latitude
        self.longitude = longitude
        self.radius = radius
        self.point = point
    }
}
