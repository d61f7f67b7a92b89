import Foundation
import NightshiftAPI
import TestSupport

/// Somebody who walks around a block again and again, as unsure of the place as receivers are between houses. At one corner is
/// home; the walk begins near the opposite one.
struct BlockWalk: Sendable {
    typealias Place = (latitude: Double, longitude: Double)

    /// Where he is at each second of one round.
    let places: [Place]

    static let home: Place = (52.52, 13.405)
    /// Metres around home: the walk is in there for four minutes of nineteen.
    static let radius = 200.0
    /// Metres of a street of the block.
    private static let side = 400.0
    /// Metres a second.
    private static let speed = 1.4

    init(seed: UInt64 = 6) {
        var random = SplitMix64(seed: seed)
        let round = 4 * Self.side
        // Sixteen seconds before home at twenty times the speed, in which a service is started.
        let start = round / 2 + 150
        let seconds = Int(saturating: round / Self.speed)
        places = (0..<seconds).map { second in
            let way = (start + Double(second) * Self.speed).truncatingRemainder(dividingBy: round)
            let (east, north) = Self.corner(way)
            return Self.place(
                east: east + .random(in: -8...8, using: &random), north: north + .random(in: -8...8, using: &random))
        }
    }

    /// Metres east and north of home, so many metres on the way around the block.
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
