import Foundation
import NightshiftAPI

/// A person who uses a device, as described in `docs/decisions/0036`.
package enum Person: String, CaseIterable, Sendable {
    case morningReader
    case hourlyChecker
    case weekendUser
    case irregular
    case shiftWorker
    case changer

    package var name: String {
        switch self {
        case .morningReader: "morning reader"
        case .hourlyChecker: "hourly checker"
        case .weekendUser: "weekend user"
        case .irregular: "irregular"
        case .shiftWorker: "shift worker"
        case .changer: "one who changes"
        }
    }

    /// - Parameters:
    ///   - apps: the number of apps on the device.
    ///   - days: the number of days. Only days from `learning` on are counted.
    package func trace(seed: UInt64 = 1, apps: Int = 25, days: Int = 60, learning: Int = 14) -> UseTrace {
        var life = Life(person: self, seed: seed, apps: apps)
        for day in 0..<days { life.live(day) }
        let ids = (1...apps).map { AppID(rawValue: "org.example.App\($0 < 10 ? "0" : "")\($0)") }
        let events = life.events(until: Double(days) * 86_400)
        return UseTrace(
            name: name, apps: ids, events: events, counted: learning..<days, start: TraceSettings.defaultStart)
    }
}

/// The days of one person. Times are hours since the start of the first day, so times above 24 are on later days.
private struct Life {
    let person: Person
    var chance: Chance
    /// The hours of the day at which apps are opened most often.
    var favourites: [Double]
    /// The sessions, each with its time and the apps that are always opened in it; nil for a session with free choice.
    var sessions: [(at: Double, habit: [Int]?)] = []
    var otherWakes: [Double] = []

    init(person: Person, seed: UInt64, apps: Int) {
        self.person = person
        chance = Chance(seed: seed &* 1_000 &+ UInt64(Person.allCases.firstIndex(of: person) ?? 0))
        favourites = []
        for _ in 0..<apps { favourites.append(chance.uniform(7...23)) }
    }

    static let changeDay = 17
    static func isDayOff(_ day: Int) -> Bool { day % 7 >= 5 }

    private mutating func time(_ hour: Double, _ minutes: Double) -> Double { chance.normal(hour, minutes / 60) }

    /// Adds a session of apps, given by rank, each opened with its probability.
    private mutating func habit(_ at: Double, _ ranks: [Int], _ probability: Double) {
        var opened: [Int] = []
        for rank in ranks where rank <= favourites.count {
            if chance.happens(probability) { opened.append(rank - 1) }
        }
        if !opened.isEmpty { sessions.append((at, opened)) }
    }

    private mutating func free(_ mean: Double, _ from: Double, _ to: Double) {
        guard to > from else { return }
        for _ in 0..<chance.poisson(mean) { sessions.append((chance.uniform(from...to), nil)) }
    }

    mutating func live(_ day: Int) {
        let off = Self.isDayOff(day)
        let midnight = Double(day) * 24
        var (wakes, sleeps) = (0.0, 0.0)
        switch person {
        case .morningReader:
            (wakes, sleeps) = (time(off ? 8 : 6.75, 20), time(23, 30))
            morning(midnight, wakes, sleeps)
        case .changer where day < Self.changeDay:
            (wakes, sleeps) = (time(off ? 8 : 6.75, 20), time(23, 30))
            morning(midnight, wakes, sleeps)
        case .changer:
            if day == Self.changeDay {
                for index in favourites.indices { favourites[index] = chance.uniform(7...23) }
            }
            (wakes, sleeps) = (time(8.5, 20), time(24.5, 30))
            habit(midnight + chance.uniform(21...22), [3, 5, 8, 11, 14], 0.85)
            free(14, midnight + wakes, midnight + sleeps)
        case .hourlyChecker:
            (wakes, sleeps) = (time(7.25, 25), time(23.5, 30))
            var at = wakes
            while at < sleeps {
                habit(midnight + at, [1, 2, 3], 0.8)
                at += max(0.1, time(1, 15))
            }
            free(8, midnight + wakes, midnight + sleeps)
        case .weekendUser:
            (wakes, sleeps) = off ? (time(9, 45), time(24.5, 30)) : (time(7, 20), time(23, 30))
            free(off ? 30 : 4, midnight + (off ? wakes : 18), midnight + sleeps)
        case .irregular:
            wakes = time(8.5, 120)
            sleeps = max(wakes + 4, time(wakes + 16, 90))
            free(chance.logNormal(median: 16, deviation: 0.5), midnight + wakes, midnight + sleeps)
        case .shiftWorker: (wakes, sleeps) = workShift(day, midnight)
        }
        let awake = max(0, sleeps - wakes)
        for _ in 0..<chance.poisson(awake) { otherWakes.append(midnight + chance.uniform(wakes...(wakes + awake))) }
        let asleep = max(0, 24 - awake)
        for _ in 0..<chance.poisson(0.3 * asleep) {
            otherWakes.append(midnight + wakes - chance.uniform(0...asleep))
        }
    }

    private mutating func morning(_ midnight: Double, _ wakes: Double, _ sleeps: Double) {
        habit(midnight + wakes + chance.uniform(10...45) / 60, [2, 4, 6, 9, 12], 0.85)
        free(14, midnight + wakes, midnight + sleeps)
    }

    private mutating func workShift(_ day: Int, _ midnight: Double) -> (Double, Double) {
        let (wake, sleep, shift): (Double, Double, ClosedRange<Double>?) =
            switch day % 8 {
            case 0, 1: (4.5, 21.5, 6...14)
            case 2, 3: (8.5, 24.5, 14...22)
            case 4, 5: (15, 31.5, 22...30)
            default: (9, 24, nil)
            }
        let (wakes, sleeps) = (time(wake, 25), time(sleep, 25))
        habit(midnight + wakes + chance.uniform(10...30) / 60, [1, 3, 5], 0.8)
        if let shift { habit(midnight + (shift.lowerBound + shift.upperBound) / 2, [2, 4], 0.7) }
        let before = sessions.count
        free(12, midnight + wakes, midnight + sleeps)
        guard let shift else { return (wakes, sleeps) }
        let kept = sessions[before...].filter { !shift.contains($0.at - midnight) || chance.happens(0.15) }
        sessions.replaceSubrange(before..., with: kept)
        return (wakes, sleeps)
    }

    // MARK: - From sessions to uses

    private func weights(_ hours: Double) -> [Double] {
        let hour = hours.truncatingRemainder(dividingBy: 24)
        let off = Self.isDayOff(Int(saturating: hours / 24))
        return favourites.enumerated().map { index, favourite in
            var weight = 1 / Double(index + 1)
            if person == .weekendUser, (4..<12).contains(index) { weight *= off ? 8 : 0.2 }
            guard person != .irregular else { return weight }
            let distance = (hour - favourite) / 3
            return weight * (0.4 + 1.2 * exp(-distance * distance / 2))
        }
    }

    mutating func events(until end: Double) -> [UseTrace.Event] {
        var events: [UseTrace.Event] = []
        var free = 0.0
        for session in sessions.sorted(by: { $0.at < $1.at }) {
            // A session that overlaps the previous one is part of it, and begins after it.
            let begin = max(session.at * 3_600, free + 1)
            guard begin >= 0, begin < end - 3_600 else { continue }
            var apps = session.habit ?? []
            if session.habit == nil {
                repeat { apps.append(chance.place(weights(begin / 3_600))) } while apps.count < 8 && chance.happens(0.6)
            }
            events.append(UseTrace.Event(at: begin, kind: .deviceUsed))
            var time = begin + chance.uniform(2...20)
            for (index, app) in apps.enumerated() where index == 0 || apps[index - 1] != app {
                events.append(UseTrace.Event(at: time, kind: .opened(app)))
                time += min(1_800, max(5, chance.logNormal(median: 45, deviation: 1)))
                events.append(UseTrace.Event(at: time, kind: .left(app)))
                time += chance.uniform(2...8)
            }
            events.append(UseTrace.Event(at: time, kind: .deviceLeft))
            free = time
        }
        for wake in otherWakes.map({ $0 * 3_600 }) where wake >= 0 && wake < end {
            events.append(UseTrace.Event(at: wake, kind: .otherWake))
        }
        // The events are sorted only by time. Events at the same time keep the order above.
        return events.enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }.map(\.element)
    }
}
