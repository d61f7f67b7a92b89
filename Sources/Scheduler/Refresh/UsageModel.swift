import NightshiftAPI

/// When something is used: an app, or the device as a whole.
///
/// Counts of beginnings by the half-hour of the day, which age with each day that passes: one set for workdays, one for days off, one
/// for any day that ages fast, so that a change of habits shows within days. Whole numbers: what is learned is the same on
/// every machine, and costs at most ``largestEncoding`` bytes as JSON.
package struct UsageModel: Hashable, Sendable, Codable {
    private var workdays = Profile()
    private var daysOff = Profile()
    private var recent = Profile()
    /// The local day that is being counted; nil before it was told to count, or of a use.
    private var day: Int?
    /// Seconds since 1970 at which a stint began last, and at which the last one ended, if it has.
    package private(set) var lastBegin: Double?
    package private(set) var lastEnd: Double?
    /// Whether it is in use now.
    package private(set) var isInUse = false

    package static let slotCount = 48
    static let slotSeconds = 1_800
    /// What one use counts in its slot, and together in those beside it: it stands for the half-hours before and after it.
    private static let own = 256
    private static let unit = 512.0
    /// Bytes of JSON that a model costs at most.
    package static let largestEncoding = 1_300
    /// Days without use after which what is remembered of them is not worth a step each.
    private static let longestMemory = 120

    package init() {}

    /// Counts by slot, and how many days they stand for.
    private struct Profile: Hashable, Sendable, Codable {
        /// In 512ths of a use.
        var counts = [UInt16](repeating: 0, count: UsageModel.slotCount)
        /// In 512ths of a day.
        var days: UInt16 = 0

        /// Counts one more day, of which `share` eighths of what was before remain.
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

    /// A stint begins: the app comes to the front, or the device into use.
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

    /// The stint ends.
    package mutating func end(_ now: LocalMoment) {
        guard isInUse else { return }
        isInUse = false
        lastEnd = now.seconds
    }

    /// Days count from now on, even if nothing is used on them.
    package mutating func start(_ now: LocalMoment) {
        if day == nil { day = now.day }
    }

    /// Lets days pass, whether or not anything was used on them. Before it was started nothing is known of any.
    package mutating func advance(to now: LocalMoment) {
        let today = now.day
        // A clock that was set back counts no day twice.
        guard let known = day, today > known else { return }
        for passed in max(known, today - Self.longestMemory)..<today {
            if Self.isDayOff(passed) { daysOff.age(keeping: 7) } else { workdays.age(keeping: 7) }
            recent.age(keeping: 6)
        }
        day = today
    }

    /// Saturday and Sunday, for want of anybody who says otherwise. Where the week is another one, the fast set learns it.
    static func isDayOff(_ day: Int) -> Bool { LocalMoment.weekday(ofDay: day) >= 5 }

    // MARK: - What is known

    /// Whether a whole day was ever seen.
    package var hasSeenDays: Bool { recent.days > 0 }

    /// Seconds since 1970 until which it was in use, as far as is known; `now` while it is.
    package func lastUse(_ now: Double) -> Double? {
        if isInUse { return now }
        return lastEnd.map { min($0, now) } ?? lastBegin.map { min($0, now) }
    }

    /// Seconds since it was in use, 0 while it is; nil where that is not known, as behind a clock that was set back since.
    func idle(_ now: Double) -> Double? {
        if isInUse { return 0 }
        return (lastEnd ?? lastBegin).flatMap { $0 <= now ? now - $0 : nil }
    }

    /// Expected uses in each half-hour of a day of that kind.
    ///
    /// - Parameters:
    ///   - prior: what is expected of something unknown, by slot.
    ///   - weight: how many days that counts for.
    package func expectation(onDayOff isDayOff: Bool, prior: [Double], weight: Double) -> [Double] {
        let kind = isDayOff ? daysOff : workdays
        return (0..<Self.slotCount).map { slot in
            let usual = Self.rate(kind, slot, prior[slot], weight)
            let lately = Self.rate(recent, slot, prior[slot], weight)
            // A kind of day that was never seen says nothing.
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
