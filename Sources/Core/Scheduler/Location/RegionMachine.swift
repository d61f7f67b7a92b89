package import NightshiftAPI

/// The state of one monitored region: the side of the boundary on which the device is, and the detection of crossings.
///
/// This is a pure value: it takes fixes, and returns crossings. A crossing counts when the device is certainly beyond
/// the boundary by a minimum distance, and has stayed there for ``dwell`` seconds. Inaccurate fixes at the boundary
/// therefore do not cause a crossing. Sources: `docs/decisions/0041`.
package struct RegionMachine: Hashable, Sendable, Codable {
    /// The region as it was set last. Its ``MonitoredRegion/identifier`` stays the same.
    package private(set) var region: MonitoredRegion
    /// The side of the boundary, kept across restarts. If the device crosses the boundary while monitoring is stopped,
    /// the crossing is reported when monitoring resumes.
    package private(set) var state: RegionState
    /// A change of side that is not confirmed yet.
    private var candidate: Candidate?
    /// The time of the last fix that was used.
    private var lastTime: Double?

    private struct Candidate: Hashable, Sendable, Codable {
        var state: RegionState
        var since: Double
    }

    /// The number of seconds that the device has to stay beyond the boundary (Apple: at least 20).
    package static let dwell = 20.0

    package init(_ region: MonitoredRegion) {
        self.region = region
        state = .unknown
    }

    /// A crossing of the boundary.
    package enum Crossing: String, Hashable, Sendable, Codable {
        case entered
        case left

        init(to state: RegionState) { self = state == .inside ? .entered : .left }
    }

    /// Returns how far past the boundary, in metres, the device must be for a crossing to count: a tenth of the radius,
    /// between 10 and 50 m, and at most a quarter of the radius.
    package static func margin(ofRadius radius: Double) -> Double {
        min(max(10, min(50, radius / 10)), radius / 4)
    }

    /// Records a fix. A fix that is older than the last one is ignored.
    ///
    /// - Parameter finest: the receiver's best accuracy in metres; nil if the receiver meets every request.
    /// - Returns: the crossing that is now confirmed, even if the app does not want to be notified of it.
    package mutating func moved(to fix: Fix, finest: Double? = nil) -> Crossing? {
        if let lastTime, fix.time < lastTime { return nil }
        lastTime = fix.time
        guard let side = side(fix, finest) else { return nil }
        // The first determination of the side of the boundary does not count as a crossing.
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

    /// Handles a restart of the clock of fixes after a boot.
    package mutating func restarted() {
        candidate = nil
        lastTime = nil
    }

    /// The time at which a fix would confirm a crossing; nil while no crossing is possible, or if a later fix was too
    /// coarse.
    package var confirmation: Double? {
        guard let candidate else { return nil }
        let moment = candidate.since + Self.dwell
        return moment > lastTime ?? -.infinity ? moment : nil
    }

    /// Returns the distance in metres from the device to the boundary, less the uncertainty of the fix.
    package func distanceToChange(from fix: Fix) -> Double {
        let distance = region.center.distance(to: fix.place)
        return max(0, abs(distance - region.radius) - fix.accuracy)
    }

    /// The accuracy in metres that a fix near the boundary needs to determine the side with certainty.
    package var wantedAccuracy: Double {
        let margin = Self.margin(ofRadius: region.radius)
        return min(max(Self.finest, margin), max(1, (region.radius - margin) / 2))
    }

    /// The finest wanted accuracy in metres. Some receivers cannot be more accurate, and regions of a usual size need
    /// no more.
    private static let finest = 10.0

    /// Returns whether the region is too small for a receiver with this best accuracy. Fixes then cannot determine the
    /// side of the boundary with certainty.
    package func isTooSmall(for finest: Double) -> Bool {
        finest > Self.coarsest * region.radius && !isDecidable(finest)
    }

    /// Returns whether a fix of this accuracy can be inside the region with certainty.
    private func isDecidable(_ accuracy: Double) -> Bool {
        accuracy < region.radius - Self.margin(ofRadius: region.radius)
    }

    /// The coarsest accuracy, in radii, at which a fix determines the probable side of the boundary.
    private static let coarsest = 1.5
    /// The share of the radius that is taken as the accuracy of a fix that determines only the probable side.
    private static let likely = 0.25

    /// Returns the side on which the device certainly is; nil if the fix is too coarse. If the region is too small for
    /// the receiver, returns the probable side.
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
