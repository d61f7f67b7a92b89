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

/// How accurate the fixes of a receiver are.
package enum ReceiverKind: String, CaseIterable, Sendable, Codable {
    /// Another accuracy for each fix, 8 to 20 m.
    case varying
    /// 17 m, whatever is asked of it.
    case steady
}

/// What strategies came to over some weeks: how long the receiver was on, and how late crossings were told.
package struct ReceiverReport: Hashable, Sendable, Codable {
    package var rows: [Row] = []

    package struct Row: Hashable, Sendable, Codable {
        package var strategy: FixStrategy
        package var kind: ReceiverKind
        package var days: Int
        /// Seconds that the receiver was waited for, and how often it was asked.
        package var receiverSeconds = 0.0
        /// Seconds that it was on where gpsd keeps it on for a minute after each question.
        package var heldSeconds = 0.0
        package var fixes = 0
        /// Crossings that there were, that were not told within half an hour, and that were told and were none.
        package var crossings = 0
        package var missed = 0
        package var madeUp = 0
        /// Seconds between a crossing and its being told, in order.
        package var delays: [Double] = []

        /// Of all the time.
        package var share: Double { receiverSeconds / (Double(days) * 86_400) }
        package var heldShare: Double { heldSeconds / (Double(days) * 86_400) }

        /// The delay that so large a part of the crossings does not exceed; nil where none was told.
        package func delay(_ part: Double) -> Double? {
            delays.isEmpty ? nil : delays[min(delays.count - 1, Int(saturating: Double(delays.count) * part))]
        }
    }

    /// - Parameter seeds: one commuter for each.
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
    /// A crossing that nobody is told within half an hour is none that anybody waits for.
    private static let patience = 1_800.0

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
    private let kind: ReceiverKind
    private let app = AppID(rawValue: "org.example.Arrivals")
    private var chance: Chance
    private var plan = LocationPlan()
    private(set) var receiverSeconds = 0.0
    private(set) var heldSeconds = 0.0
    /// Until when gpsd keeps the receiver on.
    private var heldUntil = -Double.infinity
    private(set) var fixes = 0
    private(set) var told: [TimedCrossing] = []

    /// Seconds until the first fix: where the satellites are is known for two hours.
    private static let (warm, cold, remembers) = (4.0, 20.0, 7_200.0)
    /// Seconds until the next fix of a receiver that is on, and for which gpsd keeps it on; then what `FixRequest` waits for.
    private static let (next, hold, patience) = (1.0, 60.0, 60.0)

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
                // Half a second is what it takes to ask.
                time = max(time + 0.5, due)
            }
        }
    }

    /// The fix that a question of this time ends with, and when it does.
    private mutating func request(_ time: inout Double, _ walk: inout Commuter.Walk, wanted: Double) -> Fix? {
        let asked = time
        let isOn = strategy == .always || asked < heldUntil
        time += isOn ? Self.next : asked - heldUntil < Self.remembers ? Self.warm : Self.cold
        var progress = FixProgress()
        var best: Fix?
        while let fix = fix(walk.point(at: time), at: time) {
            if fix.accuracy <= best?.accuracy ?? .infinity { best = fix }
            let isEnough = fix.accuracy <= wanted || progress.add(fix.accuracy, at: time)
            if isEnough || time + Self.next > asked + Self.patience { return best }
            time += Self.next
        }
        return nil
    }

    /// Off by up to its accuracy, in any direction.
    private mutating func fix(_ point: Commuter.Point, at time: Double) -> Fix? {
        let accuracy = kind == .steady ? 17 : chance.uniform(8...20)
        let (direction, error) = (chance.uniform(0...(2 * .pi)), chance.uniform(0...accuracy))
        let seen = Commuter.Point(point.east + cos(direction) * error, point.north + sin(direction) * error)
        return Commuter.coordinate(seen).flatMap { Fix(place: $0, accuracy: accuracy, time: time) }
    }
}
