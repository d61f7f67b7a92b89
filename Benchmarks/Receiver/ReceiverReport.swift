import Foundation
import Freshness
import NightshiftAPI
import Scheduler

/// A strategy that decides when the receiver is asked for a fix.
package enum FixStrategy: String, CaseIterable, Sendable, Codable {
    /// A strategy that asks at the times of the service's plan.
    case planned
    /// A strategy that asks every five minutes.
    case everyFiveMinutes
    /// A strategy that asks every second, so that the receiver is never off.
    case always
}

/// The accuracy of a receiver's fixes.
package enum ReceiverKind: String, CaseIterable, Sendable, Codable {
    /// A different accuracy for each fix, from 8 to 20 m.
    case varying
    /// Always 17 m, whatever accuracy is requested.
    case steady
}

/// The results of strategies over some weeks: how long the receiver was on, and how late crossings were reported.
package struct ReceiverReport: Hashable, Sendable, Codable {
    package var rows: [Row] = []

    package struct Row: Hashable, Sendable, Codable {
        package var strategy: FixStrategy
        package var kind: ReceiverKind
        package var days: Int
        /// The seconds spent waiting for the receiver, and the number of requests.
        package var receiverSeconds = 0.0
        /// The seconds for which the receiver was on, if gpsd keeps it on for a minute after each request.
        package var heldSeconds = 0.0
        package var fixes = 0
        /// The number of real crossings, of crossings not reported within half an hour, and of reports without a
        /// crossing.
        package var crossings = 0
        package var missed = 0
        package var madeUp = 0
        /// The seconds between a crossing and its report, sorted.
        package var delays: [Double] = []

        /// The share of the total time for which the receiver was on.
        package var share: Double { receiverSeconds / (Double(days) * 86_400) }
        package var heldShare: Double { heldSeconds / (Double(days) * 86_400) }

        /// Returns the delay that this share of the crossings does not exceed; nil if none was reported.
        package func delay(_ part: Double) -> Double? {
            delays.isEmpty ? nil : delays[min(delays.count - 1, Int(saturating: Double(delays.count) * part))]
        }
    }

    /// - Parameter seeds: the random seeds, with one commuter for each.
    package init(seeds: ClosedRange<UInt64>, days: Int = 7, strategies: [FixStrategy] = FixStrategy.allCases) {
        rows = strategies.flatMap { strategy in
            ReceiverKind.allCases.map { Row(strategy: strategy, kind: $0, days: 0) }
        }
        for seed in seeds {
            let commuter = Commuter(seed: seed, days: days)
            let crossings = commuter.crossings()
            for index in rows.indices {
                var play = ReceiverPlay(commuter, rows[index].strategy, rows[index].kind, seed: seed)
                play.run()
                rows[index].add(play, crossings, days: days)
            }
        }
        for index in rows.indices { rows[index].delays.sort() }
    }
}

extension ReceiverReport.Row {
    /// The delay in seconds after which an unreported crossing counts as missed.
    private static let timeout = 1_800.0

    fileprivate mutating func add(_ play: ReceiverPlay, _ known: [TimedCrossing], days: Int) {
        self.days += days
        receiverSeconds += play.receiverSeconds
        heldSeconds += play.heldSeconds
        fixes += play.fixes
        crossings += known.count
        var told = play.told
        for crossing in known {
            let match = told.firstIndex {
                $0.region == crossing.region && $0.crossing == crossing.crossing
                    && (crossing.at..<(crossing.at + Self.timeout)).contains($0.at)
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

/// One week with one strategy: the service's plan with a receiver that has delays and errors.
struct ReceiverPlay {
    private let commuter: Commuter
    private let strategy: FixStrategy
    private let kind: ReceiverKind
    private let app = AppID(rawValue: "org.example.Arrivals")
    private var chance: Chance
    private var plan = LocationPlan()
    private(set) var receiverSeconds = 0.0
    private(set) var heldSeconds = 0.0
    /// The time until which gpsd keeps the receiver on.
    private var heldUntil = -Double.infinity
    private(set) var fixes = 0
    private(set) var told: [TimedCrossing] = []

    /// The seconds until the first fix. The receiver remembers the satellites' positions for two hours.
    private static let (warm, cold, remembers) = (4.0, 20.0, 7_200.0)
    /// Three times in seconds: until the next fix of a receiver that is on, for which gpsd keeps the receiver on, and
    /// for which `FixRequest` waits.
    private static let (next, hold, timeout) = (1.0, 60.0, 60.0)

    init(_ commuter: Commuter, _ strategy: FixStrategy, _ kind: ReceiverKind, seed: UInt64) {
        self.commuter = commuter
        self.strategy = strategy
        self.kind = kind
        chance = Chance(seed: seed &* 77)
        for region in commuter.regions { plan.add(region, for: app) }
    }

    mutating func run() {
        let end = Double(commuter.days) * 86_400
        var time = 0.0
        var walk = commuter.walk()
        while time < end {
            let asked = time
            let wanted = plan.accuracy(of: app) ?? .infinity
            guard let fix = request(&time, &walk, wanted: strategy == .planned ? wanted : .infinity) else { return }
            receiverSeconds += time - asked
            heldSeconds += time + Self.hold - max(asked, heldUntil)
            heldUntil = time + Self.hold
            fixes += 1
            for event in plan.moved(to: fix, wanted: strategy == .planned ? wanted : nil) {
                told.append(TimedCrossing(region: event.region.identifier, crossing: event.crossing, at: time))
            }
            switch strategy {
            case .always: break
            case .everyFiveMinutes: time = max(time, asked + 300)
            case .planned:
                guard let due = plan.due else { return }
                // A request takes half a second.
                time = max(time + 0.5, due)
            }
        }
    }

    /// Returns the fix that answers a request made at this time, and advances the time to its end.
    private mutating func request(_ time: inout Double, _ walk: inout Commuter.Walk, wanted: Double) -> Fix? {
        let asked = time
        let isOn = strategy == .always || asked < heldUntil
        time += isOn ? Self.next : asked - heldUntil < Self.remembers ? Self.warm : Self.cold
        var progress = FixProgress()
        var best: Fix?
        while let fix = fix(walk.point(at: time), at: time) {
            if fix.accuracy <= best?.accuracy ?? .infinity { best = fix }
            let isEnough = fix.accuracy <= wanted || progress.add(fix.accuracy, at: time)
            if isEnough || time + Self.next > asked + Self.timeout { return best }
            time += Self.next
        }
        return nil
    }

    /// Returns a fix with an error of up to its accuracy, in any direction.
    private mutating func fix(_ point: Commuter.Point, at time: Double) -> Fix? {
        let accuracy = kind == .steady ? 17 : chance.uniform(8...20)
        let (direction, error) = (chance.uniform(0...(2 * .pi)), chance.uniform(0...accuracy))
        let seen = Commuter.Point(point.east + cos(direction) * error, point.north + sin(direction) * error)
        return Commuter.coordinate(seen).flatMap { Fix(place: $0, accuracy: accuracy, time: time) }
    }
}
