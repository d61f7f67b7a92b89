import NightshiftAPI
import Scheduler

/// A boundary that was crossed, and when.
struct TimedCrossing: Hashable, Sendable {
    var region: String
    var crossing: RegionMachine.Crossing
    /// Seconds of the week: of the boundary itself, or of the moment at which it was told.
    var at: Double
}

extension Commuter {
    /// The crossings that count, as somebody knows them who sees everything: past the boundary, beyond the margin for 20 seconds.
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

/// One region under the eyes of somebody who knows the place at each second.
private struct TrueSide {
    let region: MonitoredRegion
    private let margin: Double
    private var isInside: Bool?
    /// When the boundary was crossed, and since when the place is beyond the margin.
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
