import NightshiftAPI

/// The times of use of an app, or of the device as a whole.
///
/// The model counts starts of use by the half-hour of the day. The counts age with each day. One set of counts is for
/// workdays and one is for days off. A third set covers all days and ages fast, so that a change of habits shows within
/// days. Counts are integers, so the model is identical on every machine. It takes at most ``largestEncoding`` bytes as
/// JSON.
package struct UsageModel: Hashable, Sendable, Codable {
    private var workdays = Profile()
    private var daysOff = Profile()
    private var recent = Profile()
    /// The current local day; nil before ``start(_:)`` or a first use.
    private var day: Int?
    /// The start in seconds since 1970 of the last use, and its end if it has ended.
    package private(set) var lastBegin: Double?
    package private(set) var lastEnd: Double?
    /// Whether the app or the device is in use now.
    package private(set) var isInUse = false

    package static let slotCount = 48
    static let slotSeconds = 1_800
    /// The weight of one use in its own slot, and the total weight in both adjacent slots.
    private static let own = 256
    private static let unit = 512.0
    /// The maximum JSON size of a model in bytes.
    package static let largestEncoding = 1_300
    /// The maximum number of days without use that are aged one by one. Further days would have no noticeable effect.
    private static let longestMemory = 120

    package init() {}

    /// The counts by slot, and the number of days that they cover.
    private struct Profile: Hashable, Sendable, Codable {
        /// The counts in 512ths of a use.
        var counts = [UInt16](repeating: 0, count: UsageModel.slotCount)
        /// The number of days in 512ths of a day.
        var days: UInt16 = 0

        /// Counts one more day, and reduces the earlier counts to `share` eighths.
        mutating func age(keeping share: UInt32) {
            for index in counts.indices { counts[index] = UInt16(UInt32(counts[index]) * share / 8) }
            days = UInt16(min(65_535, UInt32(days) * share / 8 + 512))
        }

        mutating func add(_ amount: UInt16, _ slot: Int) {
            let index = (slot + UsageModel.slotCount) % UsageModel.slotCount
            let (sum, overflow) = counts[index].addingReportingOverflow(amount)
            counts[index] = overflow ? .max : sum
        }

        enum CodingKeys: String, CodingKey {
            case counts = "c"
            case days = "d"
        }

        init() {}

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            days = try container.decode(UInt16.self, forKey: .days)
            counts = try container.decode([UInt16].self, forKey: .counts)
            guard counts.count == UsageModel.slotCount else {
                throw DecodingError.dataCorruptedError(
                    forKey: .counts, in: container, debugDescription: "A day has \(UsageModel.slotCount) half-hours.")
            }
        }
    }

    // MARK: - Learning

    /// Records that the app enters the foreground, or that the use of the device begins.
    package mutating func begin(_ now: LocalMoment) {
        guard !isInUse else { return }
        start(now)
        advance(to: now)
        isInUse = true
        lastBegin = now.seconds
        let slot = now.secondOfDay / Self.slotSeconds
        let after = Self.own * (now.secondOfDay % Self.slotSeconds) / Self.slotSeconds
        for (offset, amount) in [(-1, Self.own - after), (0, Self.own), (1, after)] {
            let amount = UInt16(amount)
            if Self.isDayOff(now.day) {
                daysOff.add(amount, slot + offset)
            } else {
                workdays.add(amount, slot + offset)
            }
            recent.add(amount, slot + offset)
        }
    }

    /// Records the end of the use.
    package mutating func end(_ now: LocalMoment) {
        guard isInUse else { return }
        isInUse = false
        lastEnd = now.seconds
    }

    /// Starts to count days, even those without use.
    package mutating func start(_ now: LocalMoment) {
        if day == nil { day = now.day }
    }

    /// Applies the passing of days, with or without use. Days before ``start(_:)`` are unknown and are not counted.
    package mutating func advance(to now: LocalMoment) {
        let today = now.day
        // This prevents counting a day twice after the clock was set back.
        guard let known = day, today > known else { return }
        for passed in max(known, today - Self.longestMemory)..<today {
            if Self.isDayOff(passed) { daysOff.age(keeping: 7) } else { workdays.age(keeping: 7) }
            recent.age(keeping: 6)
        }
        day = today
    }

    /// Returns whether the day is a Saturday or Sunday, which are assumed to be days off. The fast set of counts learns
    /// other weeks.
    static func isDayOff(_ day: Int) -> Bool { LocalMoment.weekday(ofDay: day) >= 5 }

    // MARK: - Queries

    /// Whether the model has observed a whole day.
    package var hasSeenDays: Bool { recent.days > 0 }

    /// Returns the last known time of use in seconds since 1970; `now` during use.
    package func lastUse(_ now: Double) -> Double? {
        if isInUse { return now }
        return lastEnd.map { min($0, now) } ?? lastBegin.map { min($0, now) }
    }

    /// Returns the seconds since the last use, 0 during use. Returns nil if they are unknown, for example after the
    /// clock was set back.
    func idle(_ now: Double) -> Double? {
        if isInUse { return 0 }
        return (lastEnd ?? lastBegin).flatMap { $0 <= now ? now - $0 : nil }
    }

    /// Returns the expected number of uses in each half-hour of a workday or a day off.
    ///
    /// - Parameters:
    ///   - prior: the expected number of uses without data, by slot.
    ///   - weight: the number of days for which the prior counts.
    package func expectation(onDayOff isDayOff: Bool, prior: [Double], weight: Double) -> [Double] {
        let kind = isDayOff ? daysOff : workdays
        return (0..<Self.slotCount).map { slot in
            let usual = Self.rate(kind, slot, prior[slot], weight)
            let lately = Self.rate(recent, slot, prior[slot], weight)
            // If a kind of day was not observed yet, it provides no data.
            return kind.days == 0 ? lately : (usual + lately) / 2
        }
    }

    private static func rate(_ profile: Profile, _ slot: Int, _ prior: Double, _ weight: Double) -> Double {
        let uses = Double(profile.counts[slot]) / unit
        let days = Double(profile.days) / unit
        return (uses + prior * weight) / (days + weight)
    }

    private enum CodingKeys: String, CodingKey {
        case workdays = "w"
        case daysOff = "o"
        case recent = "r"
        case day
        case lastBegin = "b"
        case lastEnd = "e"
        case isInUse = "u"
    }
}
