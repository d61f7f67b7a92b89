package import NightshiftAPI

/// The schedule of location fixes. Far from every boundary, the receiver is on for only seconds per hour. Near a
/// boundary, it is asked often enough to report a region event within a minute or two.
///
/// This is a pure value: it takes fixes, and returns the time of the next fix. The device is assumed to approach a
/// boundary at twice its recent speed. The longer a device lies still, the less often the receiver is asked, up to a
/// limit. This limit bounds the delay of a region event after the device starts to move.
package struct FixSchedule: Hashable, Sendable, Codable {
    /// The estimated speed in metres per second: the current speed, or a decaying maximum of earlier speeds.
    private var speed = walkingSpeed
    private var last: Fix?
    /// The first fix since which the device has not moved further than the uncertainty of its fixes.
    private var still: Fix?

    /// The lowest assumed speed in metres per second: that of a person who starts to walk.
    static let walkingSpeed = 1.5
    /// The highest assumed speed in metres per second on the ground.
    static let topSpeed = 70.0
    /// The minimum number of seconds between two fixes, except for a fix that confirms a region event.
    package static let shortest = 20.0
    /// The maximum number of seconds between two fixes, for a device that moves as well as for one that lies still.
    package static let longest = 900.0
    package static let longestNearBoundary = 240.0
    /// The distance in metres from a boundary within which the receiver of a device that lies still is asked every
    /// ``longestNearBoundary`` seconds.
    static let near = 1_500.0
    /// The number of seconds without movement after which the device counts as lying still.
    static let rest = 120.0
    /// The share of the previous speed that remains after a slower fix.
    static let decay = 0.5

    package init() {}

    /// Records a fix from the receiver.
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

    /// Returns the time of the next fix, on the clock of fixes.
    ///
    /// - Parameters:
    ///   - distance: the distance in metres to the next boundary; nil if no region is monitored.
    ///   - confirmation: the time at which a fix would confirm a region event.
    /// - Returns: nil if the receiver may stay off.
    package func due(distance: Double?, confirmation: Double?) -> Double? {
        guard let distance else { return nil }
        guard let last else { return -.infinity }
        let away = distance / (2 * speed)
        var pause = min(Self.longest, max(Self.shortest, away))
        if let still, last.time - still.time >= Self.rest {
            // If the device starts to move now, it reaches the boundary after this pause, or the region event is
            // reported a little late.
            let timeout = min(Self.longest, max(Self.shortest, (last.time - still.time) / 2))
            pause = max(pause, distance <= Self.near ? min(timeout, Self.longestNearBoundary) : timeout)
        }
        let next = last.time + pause
        return confirmation.map { min(next, max($0, last.time)) } ?? next
    }

    /// Starts the schedule again after a restart of the clock of fixes.
    package mutating func restarted() { self = FixSchedule() }
}
