import Foundation
import Freshness
package import NightshiftAPI

/// A simulated week of a commuter: the location at each second, and the monitored regions. `docs/decisions/0041`
/// describes it.
package struct Commuter: Sendable {
    package let days: Int
    /// The regions around home, the office and three more destinations.
    package let regions: [MonitoredRegion]
    private var legs: [Leg] = []

    /// A straight route between two points of a plane, in metres and seconds.
    fileprivate struct Leg {
        var from: Double
        var to: Double
        var start: Point
        var end: Point
    }

    struct Point: Hashable, Sendable {
        var east: Double
        var north: Double

        init(_ east: Double, _ north: Double) {
            self.east = east
            self.north = north
        }

        func distance(to other: Point) -> Double {
            let (x, y) = (other.east - east, other.north - north)
            return (x * x + y * y).squareRoot()
        }
    }

    package init(seed: UInt64, days: Int = 7) {
        self.days = days
        regions = Self.watched.compactMap { name, center, radius in
            Self.coordinate(center).map { MonitoredRegion(identifier: name, center: $0, radius: radius) }
        }
        var life = Life(chance: Chance(seed: seed))
        for day in 0..<days { life.live(day) }
        life.stay(until: Double(days) * 86_400)
        legs = life.legs
    }

    private static let watched: [(String, Point, Double)] = [
        ("home", Life.home, 150), ("office", Life.office, 200), ("gym", Life.gym, 150), ("shop", Life.shop, 100),
        ("friend", Life.friend, 200),
    ]

    /// Returns the coordinate of a point of the plane. Distances agree closely near the middle of the plane.
    static func coordinate(_ point: Point) -> Coordinate? {
        let metresInDegree = 111_195.0
        return Coordinate(
            latitude: 52.5 + point.north / metresInDegree,
            longitude: 13.4 + point.east / (metresInDegree * cos(52.5 * .pi / 180)))
    }

    /// An iterator over the week's locations. Times must be requested in order.
    struct Walk {
        private let legs: [Leg]
        private var index = 0

        fileprivate init(_ legs: [Leg]) { self.legs = legs }

        mutating func point(at time: Double) -> Point {
            while index + 1 < legs.count, legs[index].to < time { index += 1 }
            let leg = legs[index]
            let part = leg.to > leg.from ? min(1, (time - leg.from) / (leg.to - leg.from)) : 1
            return Point(
                leg.start.east + (leg.end.east - leg.start.east) * part,
                leg.start.north + (leg.end.north - leg.start.north) * part)
        }
    }

    func walk() -> Walk { Walk(legs) }

    /// The random process that generates the week.
    private struct Life {
        var chance: Chance
        var legs: [Leg] = []
        private var time = 0.0
        private var place = home

        static let home = Point(0, 0)
        static let office = Point(9_000, 4_000)
        static let gym = Point(2_500, -1_500)
        static let shop = Point(700, 300)
        static let friend = Point(-6_000, 8_000)
        static let station = Point(800, -500)
        static let otherStation = Point(8_600, 3_900)
        static let lunch = Point(9_300, 4_300)

        init(chance: Chance) { self.chance = chance }

        /// The speeds in metres per second.
        private static let (walk, bicycle, car, train) = (1.3, 4.5, 13.0, 17.0)

        mutating func stay(until end: Double) {
            guard end > time else { return }
            legs.append(Leg(from: time, to: end, start: place, end: place))
            time = end
        }

        private mutating func rest(_ seconds: ClosedRange<Double>) { stay(until: time + chance.uniform(seconds)) }

        private mutating func go(_ target: Point, _ speed: Double) {
            let end = time + place.distance(to: target) / speed
            legs.append(Leg(from: time, to: end, start: place, end: target))
            (time, place) = (end, target)
        }

        mutating func live(_ day: Int) {
            let midnight = Double(day) * 86_400
            if day % 7 < 5 { workday(day, midnight) } else { dayOff(midnight) }
        }

        private mutating func workday(_ day: Int, _ midnight: Double) {
            stay(until: midnight + 7.6 * 3_600 + chance.uniform(-1_200...1_200))
            go(Self.station, Self.walk)
            rest(120...500)
            go(Self.otherStation, Self.train)
            go(Self.office, Self.walk)
            stay(until: midnight + 12.2 * 3_600 + chance.uniform(-600...600))
            go(Self.lunch, Self.walk)
            rest(900...2_400)
            go(Self.office, Self.walk)
            stay(until: midnight + 17.3 * 3_600 + chance.uniform(-1_800...1_800))
            go(Self.otherStation, Self.walk)
            rest(100...500)
            go(Self.station, Self.train)
            if day % 2 == 1 {
                go(Self.gym, Self.bicycle)
                rest(3_600...5_400)
                go(Self.home, Self.bicycle)
            } else if chance.happens(0.5) {
                go(Self.shop, Self.walk)
                rest(600...1_500)
                go(Self.home, Self.walk)
            } else {
                go(Self.home, Self.walk)
            }
        }

        private mutating func dayOff(_ midnight: Double) {
            stay(until: midnight + 10.5 * 3_600 + chance.uniform(-1_800...3_600))
            go(Self.shop, Self.walk)
            rest(900...2_400)
            go(Self.home, Self.walk)
            stay(until: midnight + 15 * 3_600 + chance.uniform(-1_800...1_800))
            go(Self.friend, Self.car)
            rest(7_200...14_400)
            go(Self.home, Self.car)
        }
    }
}
