/// A circle whose boundary is watched for an app (`CLCircularRegion`).
package struct MonitoredRegion: Hashable, Sendable, Codable {
    /// Unique in its app; the same identifier replaces.
    package var identifier: String
    package var center: Coordinate
    /// Metres; at least 0 and at most ``largestRadius``.
    package var radius: Double
    package var notifiesOnEntry: Bool
    package var notifiesOnExit: Bool

    /// Metres: a quarter of the way to the other side of the earth, beyond which a circle is better said from there.
    package static let largestRadius = 10_000_000.0

    package init(
        identifier: String, center: Coordinate, radius: Double, notifiesOnEntry: Bool = true,
        notifiesOnExit: Bool = true
    ) {
        self.identifier = identifier
        self.center = center
        self.radius = radius
        self.notifiesOnEntry = notifiesOnEntry
        self.notifiesOnExit = notifiesOnExit
    }
}

/// On which side of a region's boundary the device is.
package enum RegionState: String, Hashable, Sendable, Codable, CaseIterable {
    case unknown
    case inside
    case outside
}
