import NightshiftAPI
import Scheduler

/// The crossing of a boundary, with its time.
struct TimedCrossing: Hashable, Sendable {
    var region: String
    var crossing: RegionMachine.Crossing
    /// The second of the week at which the boundary was crossed, or at which the crossing was reported.
    var at: Double
}

extension Commuter {
    /// Returns the crossings that count, determined from perfect knowledge: across the boundary, and beyond the margin
    /// for 20 seconds.
    func crossings() -> [TimedCrossing] {
        var found: [TimedCrossing] = []
        for region in regions {
            var (walk, watch) = (walk(), TrueSide(region))
            for second in 0..<(days * 86_400) {
                guard let place = Self.coordinate(walk.point(at: Double(second))) else { continue }
                if let crossing = watch.moved(to: place, at: Double(second)) { found.append(crossing) }
            }
        }
        return found
    }
}

/// The state of one region, determined from the location at each second.
private struct TrueSide {
    let region: MonitoredRegion
    private let margin: Double
    private var isInside: Bool?
    /// The time at which the boundary was crossed, and the time since which the location is beyond the margin.
    private var crossedAt: Double?
    private var beyondSince: Double?

    init(_ region: MonitoredRegion) {
        self.region = region
        margin = RegionMachine.margin(ofRadius: region.radius)
    }

    mutating func moved(to place: Coordinate, at time: Double) -> TimedCrossing? {
        let distance = region.center.distance(to: place)
        let inside = distance < region.radius
        guard let was = isInside else {
            isInside = inside
            return nil
        }
        guard inside != was else {
            (crossedAt, beyondSince) = (nil, nil)
            return nil
        }
        let since = crossedAt ?? time
        crossedAt = since
        guard was ? distance > region.radius + margin : distance < region.radius - margin else { return nil }
        let beyond = beyondSince ?? time
        beyondSince = beyond
        guard time - beyond >= RegionMachine.dwell else { return nil }
        isInside = inside
        (crossedAt, beyondSince) = (nil, nil)
        return TimedCrossing(region: region.identifier, crossing: was ? .left : .entered, at: since)
    }
}
