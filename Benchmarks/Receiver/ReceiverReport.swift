import Foundation
import Freshness
import NightshiftAPI
import Scheduler

/// When the receiver is asked where the device is.
package enum FixStrategy: String, CaseIterable, Sendable, Codable {
    /// As the plan says.
    case planned
    /// Once each five minutes.
    case everyFiveMinutes
    /// Each second: it is never off.
    case always
}

/// What strategies came to over some weeks: how long the receiver was on, and how late crossings were told.
package struct ReceiverReport: Hashable, Sendable, Codable {
    package var rows: [Row] = []

    package struct Row: Hashable, Sendable, Codable {
        package var strategy: FixStrategy
        package var days: Int
        /// Seconds that the receiver was on, and how often it was asked.
        package var receiverSeconds = 0.0
        package var fixes = 0
        /// Crossings that there were, that were not told within half an hour, and that were told and were none.
        package var crossings = 0
        package var missed = 0
        package var madeUp = 0
        /// Seconds between a crossing and its being told, in order.
        package var delays: [Double] = []

        /// Of all the time.
        package var share: Double { receiverSeconds / (Double(days) * 86_400) }

        /// The delay that so large a part of the crossings does not exceed; nil where none was told.
        package func delay(_ part: Double) -> Double? {
            delays.isEmpty ? nil : delays[min(delays.count - 1, Int(saturating: Double(delays.count) * part))]
        }
    }

    /// - Parameter seeds: one commuter for each.
    package init(seeds: ClosedRange<UInt64>, days: Int = 7, strategies: [FixStrategy] = FixStrategy.allCases) {
        rows = strategies.map { Row(strategy: $0, days: 0) }
        for seed in seeds {
            let commuter = Commuter(seed: seed, days: days)
            let crossings = commuter.crossings()
            for index in rows.indices {
                var play = ReceiverPlay(commuter, strategies[index], seed: seed)
                play.run()
                rows[index].add(play, crossings, days: days)
            }
        }
        for index in rows.indices { rows[index].delays.sort() }
    }
}

extension ReceiverReport.Row {
    /// A crossing that nobody is told within half an hour is none that anybody waits for.
    private static let patience = 1_800.0

    fileprivate mutating func add(_ play: ReceiverPlay, _ known: [TimedCrossing], days: Int) {
        self.days += days
        receiverSeconds += play.receiverSeconds
        fixes += play.fixes
        crossings += known.count
        var told = play.told
        for crossing in known {
            let match = told.firstIndex {
                $0.region == crossing.region && $0.crossing == crossing.crossing
                    && (crossing.at..<(crossing.at + Self.patience)).contains($0.at)
            }
            guard let match else {
                missed += 1
                continue
            }
            delays.append(told.remove(at: match).at - crossing.at)
        }
        madeUp += told.count
    }
}

/// One week with one strategy: the service's plan on a receiver that takes its time, and errs.
struct ReceiverPlay {
    private let commuter: Commuter
    private let strategy: FixStrategy
    private var chance: Chance
    private var plan = LocationPlan()
    private(set) var receiverSeconds = 0.0
    private(set) var fixes = 0
    private(set) var told: [TimedCrossing] = []

    /// Seconds until the first fix: where the satellites are is known for two hours.
    private static let (warm, cold, remembers) = (4.0, 20.0, 7_200.0)

    init(_ commuter: Commuter, _ strategy: FixStrategy, seed: UInt64) {
        self.commuter = commuter
        self.strategy = strategy
        chance = Chance(seed: seed &* 77)
        let app = AppID(rawValue: "org.example.Arrivals")
        for region in commuter.regions { plan.add(region, for: app) }
    }

    mutating func run() {
        let end = Double(commuter.days) * 86_400
        var (time, lastOn) = (0.0, -Double.infinity)
        var walk = commuter.walk()
        while time < end {
            let asked = time
            let seconds = strategy == .always ? 1 : time - lastOn < Self.remembers ? Self.warm : Self.cold
            receiverSeconds += seconds
            time += seconds
            lastOn = time
            fixes += 1
            guard let fix = fix(walk.point(at: time), at: time) else { return }
            for event in plan.moved(to: fix) {
                told.append(TimedCrossing(region: event.region.identifier, crossing: event.crossing, at: time))
            }
            switch strategy {
            case .always: break
            case .everyFiveMinutes: time = max(time, asked + 300)
            case .planned:
                guard let due = plan.due else { return }
                // Half a second is what it takes to ask.
                time = max(time + 0.5, due)
            }
        }
    }

    /// Off by up to its accuracy, in any direction.
    private mutating func fix(_ point: Commuter.Point, at time: Double) -> Fix? {
        let accuracy = chance.uniform(8...20)
        let (direction, error) = (chance.uniform(0...(2 * .pi)), chance.uniform(0...accuracy))
        let seen = Commuter.Point(point.east + cos(direction) * error, point.north + sin(direction) * error)
        return Commuter.coordinate(seen).flatMap { Fix(place: $0, accuracy: accuracy, time: time) }
    }
}
