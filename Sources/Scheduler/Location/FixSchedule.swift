package import NightshiftAPI

/// When the receiver is worth being asked again: so seldom that it is on for seconds an hour far from every boundary, and so often near one
/// that a crossing is told within a minute or two.
///
/// Pure: fixes go in, the next moment comes out. The speed at which the device may come near a boundary is what it was lately,
/// doubled; a device that lies still is asked ever less often, up to a bound that is the price of its setting off.
package struct FixSchedule: Hashable, Sendable, Codable {
    /// Metres a second over the last fixes, the fastest of the last minutes.
    private var speed = walkingSpeed
    private var last: Fix?
    /// Since when the device has not moved further than its fixes are uncertain, and where that was.
    private var still: Fix?

    /// Metres a second of somebody who sets off: not slower than this.
    static let walkingSpeed = 1.5
    /// Metres a second beyond which nobody crosses a boundary on the ground.
    static let topSpeed = 70.0
    /// Seconds between two fixes at least, but for one that makes a crossing certain.
    package static let shortest = 20.0
    /// Seconds between two fixes at most while the device moves, and while it lies still.
    package static let longest = 900.0
    package static let longestNearBoundary = 240.0
    /// Metres from a boundary within which a device that lies still is asked every ``longestNearBoundary`` seconds.
    static let near = 1_500.0
    /// Seconds for which it has to lie still for that to count.
    static let rest = 120.0
    /// By how much of the speed so far a slower fix lets it fall.
    static let decay = 0.5

    package init() {}

    /// The receiver has told where the device is.
    package mutating func moved(to fix: Fix) {
        defer { last = fix }
        guard let last, fix.time > last.time else {
            still = fix
            return
        }
        let moved = last.place.distance(to: fix.place)
        let certain = max(0, moved - last.accuracy - fix.accuracy)
        let now = min(Self.topSpeed, certain / (fix.time - last.time))
        speed = max(Self.walkingSpeed, now, speed * Self.decay)
        if let anchor = still, anchor.place.distance(to: fix.place) <= anchor.accuracy + fix.accuracy + 30 { return }
        still = fix
    }

    /// When the next fix is due, on the clock of fixes.
    ///
    /// - Parameters:
    ///   - distance: metres to the next boundary; nil where nothing is monitored.
    ///   - confirmation: when a fix would make a crossing certain.
    /// - Returns: nil where the receiver may stay off.
    package func due(distance: Double?, confirmation: Double?) -> Double? {
        guard let distance else { return nil }
        guard let last else { return -.infinity }
        let away = distance / (2 * speed)
        var pause = min(Self.longest, max(Self.shortest, away))
        if let still, last.time - still.time >= Self.rest {
            // It lies still: whoever is carried off is at the boundary later than this, or is told of a little late.
            let patience = min(Self.longest, max(Self.shortest, (last.time - still.time) / 2))
            pause = max(pause, distance <= Self.near ? min(patience, Self.longestNearBoundary) : patience)
        }
        let next = last.time + pause
        return confirmation.map { min(next, max($0, last.time)) } ?? next
    }

    /// The clock of fixes began anew.
    package mutating func restarted() { self = FixSchedule() }
}
