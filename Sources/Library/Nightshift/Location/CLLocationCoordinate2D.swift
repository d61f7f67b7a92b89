import NightshiftAPI

public typealias CLLocationDegrees = Double
/// A distance in metres.
public typealias CLLocationDistance = Double
/// The accuracy of a value in metres. A negative accuracy means that the measured value is unknown.
public typealias CLLocationAccuracy = Double
/// A speed in metres per second. A negative value means that the speed is unknown.
public typealias CLLocationSpeed = Double
/// A direction in degrees clockwise from true north. A negative value means that the direction is unknown.
public typealias CLLocationDirection = Double

/// The accuracy of a speed in metres per second. A negative value means that the accuracy is unknown.
public typealias CLLocationSpeedAccuracy = Double
/// The accuracy of a direction in degrees. A negative value means that the accuracy is unknown.
public typealias CLLocationDirectionAccuracy = Double

/// A coordinate on the earth in degrees (WGS 84). Its values can be outside the valid range.
public struct CLLocationCoordinate2D: Sendable {
    public var latitude: CLLocationDegrees
    public var longitude: CLLocationDegrees

    public init() {
        self.init(latitude: 0, longitude: 0)
    }

    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }

    init(_ coordinate: Coordinate) {
        self.init(latitude: coordinate.latitude, longitude: coordinate.longitude)
    }

    /// The valid coordinate, or nil if the values are invalid.
    var coordinate: Coordinate? { Coordinate(latitude: latitude, longitude: longitude) }
}

/// An invalid coordinate.
public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(latitude: -180, longitude: -180)

/// Returns whether the coordinate is valid. The latitude of a valid coordinate is from -90 to 90 degrees, and its
/// longitude is from -180 to 180 degrees.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func CLLocationCoordinate2DIsValid(_ coord: CLLocationCoordinate2D) -> Bool {
    coord.coordinate != nil
}

// swift-format-ignore: AlwaysUseLowerCamelCase
public func CLLocationCoordinate2DMake(
    _ latitude: CLLocationDegrees, _ longitude: CLLocationDegrees
) -> CLLocationCoordinate2D {
    CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
}

// These values are the same as on Apple's systems.
public let kCLLocationAccuracyBestForNavigation: CLLocationAccuracy = -2
public let kCLLocationAccuracyBest: CLLocationAccuracy = -1
public let kCLLocationAccuracyNearestTenMeters: CLLocationAccuracy = 10
public let kCLLocationAccuracyHundredMeters: CLLocationAccuracy = 100
public let kCLLocationAccuracyKilometer: CLLocationAccuracy = 1_000
public let kCLLocationAccuracyThreeKilometers: CLLocationAccuracy = 3_000
public let kCLDistanceFilterNone: CLLocationDistance = -1
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CLLocationDistanceMax: CLLocationDistance = .greatestFiniteMagnitude
