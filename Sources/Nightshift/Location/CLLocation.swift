public import Foundation
import NightshiftAPI

// Unchecked for its subclasses' sake: nothing here is changed behind the initialiser.
/// Where the device was at some moment, and how certain that is.
open class CLLocation: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    public let coordinate: CLLocationCoordinate2D
    /// Metres above the sea, as far as ``verticalAccuracy`` says; the service tells none.
    public let altitude: CLLocationDistance
    /// Metres around the coordinate within which the device was; a negative one says that the coordinate is not to be
    /// used.
    public let horizontalAccuracy: CLLocationAccuracy
    /// Metres; zero or negative where the altitude is not known.
    public let verticalAccuracy: CLLocationAccuracy
    public let course: CLLocationDirection
    /// Negative: the service tells no course.
    public let courseAccuracy: CLLocationDirectionAccuracy
    public let speed: CLLocationSpeed
    /// Negative: the service tells no speed.
    public let speedAccuracy: CLLocationSpeedAccuracy
    public let timestamp: Date

    /// Always nil: no source knows the floor.
    public var floor: CLFloor? { nil }

    /// A place of now, with an accuracy of 0 m, whose altitude, course and speed are not known.
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

    /// Nil for an archive that has no location, or one whose timestamp is missing.
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

    /// Metres to another place along the earth's curve, whatever the altitudes; not a number where one of both is no
    /// place.
    ///
    /// Along the great circle of a sphere with the earth's mean radius: within half a percent of the way on its
    /// ellipsoid.
    open func distance(from location: CLLocation) -> CLLocationDistance {
        guard let here = coordinate.coordinate, let there = location.coordinate.coordinate else { return .nan }
        return there.distance(to: here)
    }

    /// Itself, which never changes.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override var description: String {
        let place = [coordinate.latitude, coordinate.longitude].map { String(format: "%+.8f", $0) }
        let text = String(
            format: "+/- %.2fm (speed %.2f mps / course %.2f)", horizontalAccuracy, speed, course)
        return "<\(place.joined(separator: ","))> \(text) @ \(timestamp)"
    }
}

/// A floor of a building. Nothing on this device knows it: no location has one.
public final class CLFloor: NSObject, Sendable {
    /// 0 is the ground floor.
    public let level: Int

    private init(level: Int) {
        self.level = level
    }
}
