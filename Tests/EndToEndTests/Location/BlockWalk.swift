import Foundation
import NightshiftAPI
import TestSupport

/// A person who walks around a block again and again, with the inaccuracy of receivers between houses. Home is at one
/// corner; the walk starts near the opposite one.
struct BlockWalk: Sendable {
    typealias Place = (latitude: Double, longitude: Double)

    /// The walker's location at each second of one round.
    let places: [Place]

    static let home: Place = (52.52, 13.405)
    /// The radius of the region around home in metres. The walk is inside it for four of nineteen minutes.
    static let radius = 200.0
    /// The length of one side of the block in metres.
    private static let side = 400.0
    /// The walking speed in metres a second.
    private static let speed = 1.4

    init(seed: UInt64 = 6) {
        var random = SplitMix64(seed: seed)
        let round = 4 * Self.side
        // At twenty times the speed this leaves sixteen seconds before home, which is enough time to start a service.
        let start = round / 2 + 150
        let seconds = Int(saturating: round / Self.speed)
        places = (0..<seconds).map { second in
            let way = (start + Double(second) * Self.speed).truncatingRemainder(dividingBy: round)
            let (east, north) = Self.corner(way)
            return Self.place(
                east: east + .random(in: -8...8, using: &random), north: north + .random(in: -8...8, using: &random))
        }
    }

    /// Returns the distance east and north of home in metres, after this many metres on the way around the block.
    private static func corner(_ way: Double) -> (east: Double, north: Double) {
        if way < side { return (way, 0) }
        if way < 2 * side { return (side, way - side) }
        if way < 3 * side { return (3 * side - way, side) }
        return (0, 4 * side - way)
    }

    static func place(east: Double, north: Double) -> Place {
        (home.latitude + north / 111_195, home.longitude + east / (111_195 * cos(home.latitude * .pi / 180)))
    }
}
