public import Foundation
import NightshiftAPI

// The conformance is unchecked because the class can have subclasses. The initialiser sets all properties, and they
// never change afterwards.
/// A location of the device at a certain time, with its accuracy.
open class CLLocation: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    public let coordinate: CLLocationCoordinate2D
    /// The altitude in metres above sea level. Its accuracy is ``verticalAccuracy``. The service provides no altitude.
    public let altitude: CLLocationDistance
    /// The radius in metres around the coordinate within which the device was. A negative value means that the
    /// coordinate must not be used.
    public let horizontalAccuracy: CLLocationAccuracy
    /// The accuracy of the altitude in metres. If it is zero or negative, the altitude is unknown.
    public let verticalAccuracy: CLLocationAccuracy
    public let course: CLLocationDirection
    /// The accuracy of the course in degrees. It is negative, because the service provides no course.
    public let courseAccuracy: CLLocationDirectionAccuracy
    public let speed: CLLocationSpeed
    /// The accuracy of the speed in metres per second. It is negative, because the service provides no speed.
    public let speedAccuracy: CLLocationSpeedAccuracy
    public let timestamp: Date

    /// The floor of the building. It is always nil, because no source provides the floor.
    public var floor: CLFloor? { nil }

    /// Creates a location with the current time and an accuracy of 0 m. Its altitude, course and speed are unknown.
    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
            horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: Date())
    }

    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
        horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy,
            course: -1, speed: -1, timestamp: timestamp)
    }

    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
        horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, course: CLLocationDirection, speed: CLLocationSpeed,
        timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy,
            course: course, courseAccuracy: -1, speed: speed, speedAccuracy: -1, timestamp: timestamp)
    }

    public init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
        horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, course: CLLocationDirection,
        courseAccuracy: CLLocationDirectionAccuracy, speed: CLLocationSpeed, speedAccuracy: CLLocationSpeedAccuracy,
        timestamp: Date
    ) {
        self.coordinate = coordinate
        self.altitude = altitude
        horizontalAccuracy = hAccuracy
        verticalAccuracy = vAccuracy
        self.course = course
        self.courseAccuracy = courseAccuracy
        self.speed = speed
        self.speedAccuracy = speedAccuracy
        self.timestamp = timestamp
    }

    /// Creates a location from an archive. Returns nil if the archive has no location, or no timestamp.
    public required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "latitude"), coder.containsValue(forKey: "longitude"),
            coder.containsValue(forKey: "timestamp")
        else { return nil }
        func number(_ key: String) -> Double { coder.decodeDouble(forKey: key) }
        coordinate = CLLocationCoordinate2D(latitude: number("latitude"), longitude: number("longitude"))
        altitude = number("altitude")
        horizontalAccuracy = number("horizontalAccuracy")
        verticalAccuracy = number("verticalAccuracy")
        course = number("course")
        courseAccuracy = number("courseAccuracy")
        speed = number("speed")
        speedAccuracy = number("speedAccuracy")
        timestamp = Date(timeIntervalSinceReferenceDate: number("timestamp"))
    }

    open class var supportsSecureCoding: Bool { true }

    open func encode(with coder: NSCoder) {
        let numbers = [
            "latitude": coordinate.latitude, "longitude": coordinate.longitude, "altitude": altitude,
            "horizontalAccuracy": horizontalAccuracy, "verticalAccuracy": verticalAccuracy, "course": course,
            "courseAccuracy": courseAccuracy, "speed": speed, "speedAccuracy": speedAccuracy,
            "timestamp": timestamp.timeIntervalSinceReferenceDate,
        ]
        for (key, number) in numbers { coder.encode(number, forKey: key) }
    }

    convenience init(_ place: Place) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: place.latitude, longitude: place.longitude), altitude: 0,
            horizontalAccuracy: place.accuracy, verticalAccuracy: -1, timestamp: place.time)
    }

    /// Returns the distance to another location in metres along the earth's surface, or NaN if one of the coordinates
    /// is invalid. Altitudes are ignored.
    ///
    /// The distance is along the great circle of a sphere with the earth's mean radius. It differs by at most half a
    /// percent from the distance on the earth's ellipsoid.
    open func distance(from location: CLLocation) -> CLLocationDistance {
        guard let here = coordinate.coordinate, let there = location.coordinate.coordinate else { return .nan }
        return there.distance(to: here)
    }

    /// Returns this object, because it is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override var description: String {
        let place = [coordinate.latitude, coordinate.longitude].map { String(format: "%+.8f", $0) }
        let text = String(
            format: "+/- %.2fm (speed %.2f mps / course %.2f)", horizontalAccuracy, speed, course)
        return "<\(place.joined(separator: ","))> \(text) @ \(timestamp)"
    }
}

/// A floor of a building. No location has a floor, because this device cannot determine the floor.
public final class CLFloor: NSObject, Sendable {
    /// The number of the floor. 0 is the ground floor.
    public let level: Int

    private init(level: Int) {
        self.level = level
    }
}
