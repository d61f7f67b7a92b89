/// What a probe does with location; it makes a manager at every launch.
package struct LocationOrder: Sendable, Codable {
    /// What it has its user asked for, at a point.
    package var asking: Asking?
    package var regions: [RegionOrder] = []
    /// Where it starts to monitor significant changes; nil: never.
    package var changesFrom: Point?
    /// Where it ends that.
    package var changesUntil: Point?

    /// Where it asks for one place; nil: never.
    package var placeAt: Point?
    /// Where it starts updates of the place, and where it stops them.
    package var updatesFrom: Point?
    package var updatesUntil: Point?
    /// Metres; nil for the library's default.
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
    /// Where it is started; nil: never, as an earlier launch has done that.
    package var point: Point?
    /// Where it is stopped.
    package var end: Point?
    /// Whether its state is asked for when its monitoring has begun.
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
