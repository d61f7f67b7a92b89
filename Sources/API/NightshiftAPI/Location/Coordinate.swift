import Foundation

/// A position on the earth, in degrees (WGS 84).
package struct Coordinate: Hashable, Sendable, Codable {
    package var latitude: Double
    package var longitude: Double

    /// Creates a position. Returns nil if a value is NaN, beyond a pole, or beyond the antimeridian.
    package init?(latitude: Double, longitude: Double) {
        guard (-90.0...90.0).contains(latitude), (-180.0...180.0).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard
            let place = Coordinate(
                latitude: try container.decode(Double.self, forKey: .latitude),
                longitude: try container.decode(Double.self, forKey: .longitude))
        else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "A latitude must be -90 to 90 degrees, a longitude -180 to 180 degrees."))
        }
        self = place
    }

    private enum CodingKeys: String, CodingKey {
        case latitude
        case longitude
    }

    /// The mean radius of the earth in metres (IUGG).
    package static let earthRadius = 6_371_008.8

    /// Returns the distance in metres along the great circle. It uses the haversine formula, which is also exact for
    /// short distances.
    package func distance(to other: Coordinate) -> Double {
        let radians = Double.pi / 180
        let (first, second) = (latitude * radians, other.latitude * radians)
        let across = sin((other.longitude - longitude) * radians / 2)
        let along = sin((second - first) / 2)
        let haversine = along * along + cos(first) * cos(second) * across * across
        // For antipodal positions, rounding may produce a value slightly above one.
        return 2 * Self.earthRadius * asin(min(1, haversine.squareRoot()))
    }
}

/// A location reported by a source.
package struct Fix: Hashable, Sendable, Codable {
    package var place: Coordinate
    /// The radius in metres of the circle around the position in which the device is.
    package var accuracy: Double
    /// The time in seconds on CLOCK_BOOTTIME, a clock that is never set and continues while the machine sleeps.
    package var time: Double

    /// Creates a fix. Returns nil if the accuracy is unknown or the time is not finite.
    package init?(place: Coordinate, accuracy: Double, time: Double) {
        guard accuracy >= 0, accuracy.isFinite, time.isFinite else { return nil }
        self.place = place
        self.accuracy = accuracy
        self.time = time
    }
}
