import Foundation
import NightshiftAPI
import Scheduler
import Testing

/// A flat area around a point, with coordinates in metres east and north of the point, and a device that moves in the
/// area.
struct Surroundings {
    let origin: Coordinate

    init(latitude: Double = 52.5, longitude: Double = 13.4) throws {
        origin = try #require(Coordinate(latitude: latitude, longitude: longitude))
    }

    /// The length of one degree of a meridian in metres.
    private static let degree = Coordinate.earthRadius * .pi / 180

    func place(_ east: Double, _ north: Double) throws -> Coordinate {
        let latitude = origin.latitude + north / Self.degree
        var longitude = origin.longitude + east / (Self.degree * cos(origin.latitude * .pi / 180))
        if longitude > 180 { longitude -= 360 }
        if longitude < -180 { longitude += 360 }
        return try #require(Coordinate(latitude: latitude, longitude: longitude))
    }

    func fix(_ east: Double, _ north: Double = 0, accuracy: Double = 5, at time: Double) throws -> Fix {
        try #require(Fix(place: try place(east, north), accuracy: accuracy, time: time))
    }

    func region(
        _ identifier: String = "home", east: Double = 0, north: Double = 0, radius: Double = 100
    ) throws -> MonitoredRegion {
        MonitoredRegion(identifier: identifier, center: try place(east, north), radius: radius)
    }
}
