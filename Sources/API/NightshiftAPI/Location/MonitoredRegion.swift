/// A circular region that is monitored for an app (`CLCircularRegion`).
package struct MonitoredRegion: Hashable, Sendable, Codable {
    /// An identifier that is unique within the app. A region replaces a previous one with the same identifier.
    package var identifier: String
    package var center: Coordinate
    /// The radius in metres, from 0 to ``largestRadius``.
    package var radius: Double
    package var notifiesOnEntry: Bool
    package var notifiesOnExit: Bool

    /// A quarter of the earth's circumference, in metres. A larger circle has a complement on the opposite side of the
    /// earth that is smaller and describes it better.
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

/// The side of a region's boundary on which the device is.
package enum RegionState: String, Hashable, Sendable, Codable, CaseIterable, Worded {
    case unknown
    case inside
    case outside

    package var wording: Wording {
        switch self {
        case .unknown:
            Wording(short: rawValue, sentence: "It is not known whether the device is inside or outside.")
        case .inside, .outside: Wording(short: rawValue, sentence: "The device is \(rawValue).")
        }
    }
}
