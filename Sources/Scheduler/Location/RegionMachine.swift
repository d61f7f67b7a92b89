package import NightshiftAPI

/// On which side of one region's boundary the device is, and when it has crossed it.
///
/// Pure: fixes go in, crossings come out. A crossing counts when the device is past the boundary for certain, a minimum distance beyond it, and
/// has stayed there for ``dwell`` seconds, so that jitter at the edge tells nothing. Facts: `docs/decisions/0041`.
package struct RegionMachine: Hashable, Sendable, Codable {
    /// As it was last told; ``MonitoredRegion/identifier`` stays the same.
    package private(set) var region: MonitoredRegion
    /// Kept across restarts: what was crossed while nobody looked is told when somebody looks again.
    package private(set) var state: RegionState
    /// A side that the device may have changed to.
    private var candidate: Candidate?
    /// The time of the last fix that was looked at.
    private var lastTime: Double?

    private struct Candidate: Hashable, Sendable, Codable {
        var state: RegionState
        var since: Double
    }

    /// Seconds that the device has to stay beyond the boundary (Apple: at least 20).
    package static let dwell = 20.0

    package init(_ region: MonitoredRegion) {
        self.region = region
        state = .unknown
    }

    /// The boundary was crossed.
    package enum Crossing: String, Hashable, Sendable, Codable {
        case entered
        case left

        init(to state: RegionState) { self = state == .inside ? .entered : .left }
    }

    /// Metres past the boundary before which a crossing does not count: a tenth of the radius, 10 to 50 m, and never more than a quarter of it.
    package static func margin(ofRadius radius: Double) -> Double {
        min(max(10, min(50, radius / 10)), radius / 4)
    }

    /// The device is there now. A fix that is older than the last one is not looked at.
    ///
    /// - Parameter finest: metres, the best that the receiver can tell; nil where it tells what it is asked for.
    /// - Returns: the crossing that is certain now, whether or not the region notifies of it.
    package mutating func moved(to fix: Fix, finest: Double? = nil) -> Crossing? {
        if let lastTime, fix.time < lastTime { return nil }
        lastTime = fix.time
        guard let side = side(fix, finest) else { return nil }
        // Where it is at first is no crossing.
        guard state != .unknown else {
            state = side.state
            return nil
        }
        guard side.state != state else {
            candidate = nil
            return nil
        }
        guard side.isBeyondMargin else { return nil }
        guard let candidate, candidate.state == side.state else {
            candidate = Candidate(state: side.state, since: fix.time)
            return nil
        }
        guard fix.time - candidate.since >= Self.dwell else { return nil }
        state = side.state
        self.candidate = nil
        return Crossing(to: side.state)
    }

    /// The clock of fixes began anew: the machine was started again.
    package mutating func restarted() {
        candidate = nil
        lastTime = nil
    }

    /// When a fix would make a crossing certain; nil while none is possible, and where one that came since was too coarse to tell.
    package var confirmation: Double? {
        guard let candidate else { return nil }
        let moment = candidate.since + Self.dwell
        return moment > lastTime ?? -.infinity ? moment : nil
    }

    /// Metres between the device and the next place at which something would change; nil while nothing is known.
    package func distanceToChange(from fix: Fix) -> Double {
        let distance = region.center.distance(to: fix.place)
        return max(0, abs(distance - region.radius) - fix.accuracy)
    }

    /// Metres of accuracy that a fix near the boundary has to have, to be on one side for certain.
    package var wantedAccuracy: Double {
        let margin = Self.margin(ofRadius: region.radius)
        return min(max(Self.finest, margin), max(1, (region.radius - margin) / 2))
    }

    /// Metres: not every receiver is finer, and no region of a usual size needs it.
    private static let finest = 10.0

    /// Whether the region is too small for a receiver that tells no better than this: no fix decides on which side of the
    /// boundary the device is.
    package func isTooSmall(for finest: Double) -> Bool {
        finest > Self.coarsest * region.radius && !isDecidable(finest)
    }

    /// Whether a place of this accuracy may be inside for certain.
    private func isDecidable(_ accuracy: Double) -> Bool {
        accuracy < region.radius - Self.margin(ofRadius: region.radius)
    }

    /// Radii of accuracy up to which a place says on which side the device probably is.
    private static let coarsest = 1.5
    /// The part of the radius that counts as the accuracy of such a place.
    private static let likely = 0.25

    /// Where the device is for certain; nil where the fix is too coarse to tell. In a region that is too small for what the
    /// receiver can, it is where the device probably is.
    private func side(_ fix: Fix, _ finest: Double?) -> (state: RegionState, isBeyondMargin: Bool)? {
        let distance = region.center.distance(to: fix.place)
        let margin = Self.margin(ofRadius: region.radius)
        let isLikely = finest.map { !isDecidable($0) } ?? false && fix.accuracy <= Self.coarsest * region.radius
        let accuracy = isLikely ? min(fix.accuracy, Self.likely * region.radius) : fix.accuracy
        if distance + accuracy < region.radius {
            return (.inside, distance + accuracy < region.radius - margin)
        }
        if distance - accuracy > region.radius {
            return (.outside, distance - accuracy > region.radius + margin)
        }
        return nil
    }
}
