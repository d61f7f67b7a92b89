import Foundation
import NightshiftAPI
import Testing

/// R6: Tests of coordinates, and of the distances between them.
@Suite struct CoordinateTests {
    private static func place(_ latitude: Double, _ longitude: Double) throws -> Coordinate {
        try #require(Coordinate(latitude: latitude, longitude: longitude))
    }

    /// The expected lengths are great circles on a sphere with the earth's mean radius, from spherical trigonometry.
    @Test(arguments: [
        // These are one degree of a meridian, and one degree of the equator.
        (0.0, 0.0, 1.0, 0.0, 111_195.08), (0, 0, 0, 1, 111_195.08),
        // A distance across the antimeridian is as short as elsewhere.
        (0, 179.5, 0, -179.5, 111_195.08), (52, 180, 52, -180, 0),
        // All longitudes meet at a pole.
        (90, 0, 90, 137, 0), (89, 0, 89, 180, 222_390.16), (-90, 10, 90, -170, 20_015_114.44),
        // This is the opposite side of the earth.
        (0, 0, 0, 180, 20_015_114.44), (0, 0, 0, 0, 0),
    ])
    func `R6: The distance between two coordinates follows the great circle`(
        _ firstLatitude: Double, _ firstLongitude: Double, _ latitude: Double, _ longitude: Double, _ metres: Double
    ) throws {
        let first = try Self.place(firstLatitude, firstLongitude)
        let second = try Self.place(latitude, longitude)
        #expect(abs(first.distance(to: second) - metres) < 0.5)
        #expect(first.distance(to: second) == second.distance(to: first))
    }

    @Test(arguments: [
        (91.0, 0.0), (-90.1, 0), (0, 180.1), (0, -181), (.nan, 0), (0, .nan), (.infinity, 0), (0, -.infinity),
    ])
    func `R6: Invalid coordinates are refused`(_ latitude: Double, _ longitude: Double) {
        #expect(Coordinate(latitude: latitude, longitude: longitude) == nil)
    }

    @Test func `R6: Invalid fixes are refused`() throws {
        let place = try Self.place(1, 2)
        #expect(Fix(place: place, accuracy: -1, time: 0) == nil)
        #expect(Fix(place: place, accuracy: .nan, time: 0) == nil)
        #expect(Fix(place: place, accuracy: .infinity, time: 0) == nil)
        #expect(Fix(place: place, accuracy: 5, time: .nan) == nil)
        #expect(Fix(place: place, accuracy: 0, time: -5) != nil)
    }

    @Test func `R6: Invalid coordinates in JSON are refused, too`() throws {
        #expect(throws: DecodingError.self) {
            try JSON.decode(Coordinate.self, from: Data(#"{"latitude": 100, "longitude": 0}"#.utf8))
        }
        let place = try Self.place(-33.5, 151.25)
        #expect(try JSON.decode(Coordinate.self, from: try JSON.encode(place)) == place)
    }
}
