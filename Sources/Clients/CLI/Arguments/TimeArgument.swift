import ArgumentParser
import Foundation

/// A time on the command line: `+2h`, `22:00`, `2026-11-22`, `2026-11-22T06:30`, `2026-11-22T06:30:00Z`.
///
/// A time without a time zone is local. A time of day means the next time at which the clock shows it.
enum TimeArgument: Hashable, Sendable {
    case after(TimeSpan)
    case timeOfDay(hour: Int, minute: Int, second: Int)
    /// A date and its time zone. `secondsFromGMT` is nil for local time.
    case date(DateComponents, secondsFromGMT: Int?)

    static func parse(_ text: String) throws -> TimeArgument {
        if text.hasPrefix("+") { return .after(try TimeSpan.parse(String(text.dropFirst()))) }
        var rest = text[...]
        let zone = try takeZone(&rest)
        let parts = rest.split(omittingEmptySubsequences: false) { $0 == "T" || $0 == "t" || $0 == " " }
        if parts.count == 1, zone == nil, let (hour, minute, second) = clock(parts[0]) {
            return .timeOfDay(hour: hour, minute: minute, second: second)
        }
        guard (1...2).contains(parts.count) else { throw mistake }
        let day = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard day.count == 3, day[0].count == 4, let year = Int(day[0]), let month = Int(day[1]),
            (1...12).contains(month), let dayOfMonth = Int(day[2]), (1...31).contains(dayOfMonth)
        else { throw mistake }
        var components = DateComponents(year: year, month: month, day: dayOfMonth, hour: 0, minute: 0, second: 0)
        if parts.count == 2 {
            guard let (hour, minute, second) = clock(parts[1]) else { throw mistake }
            components.hour = hour
            components.minute = minute
            components.second = second
        }
        return .date(components, secondsFromGMT: zone)
    }

    /// Returns the date, or nil if the date does not exist, such as 30 February.
    func resolved(now: Date, timeZone: TimeZone) -> Date? {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        switch self {
        case .after(let span):
            return now.addingTimeInterval(span.seconds)
        case .timeOfDay(let hour, let minute, let second):
            return calendar.nextDate(
                after: now, matching: DateComponents(hour: hour, minute: minute, second: second),
                matchingPolicy: .nextTime)
        case .date(let components, let seconds):
            if let seconds, let zone = TimeZone(secondsFromGMT: seconds) { calendar.timeZone = zone }
            guard let date = calendar.date(from: components),
                calendar.component(.day, from: date) == components.day
            else { return nil }
            return date
        }
    }

    /// Removes a time zone, such as `Z` or `+01:00`, from the end of `rest` and returns its offset in seconds, or nil
    /// if `rest` has no time zone.
    private static func takeZone(_ rest: inout Substring) throws -> Int? {
        if rest.hasSuffix("Z") || rest.hasSuffix("z") {
            rest = rest.dropLast()
            return 0
        }
        guard rest.contains("T") || rest.contains("t") || rest.contains(" ") else { return nil }
        // The hyphens in the date are not signs of a time zone.
        guard let sign = rest.lastIndex(where: { $0 == "+" || $0 == "-" }),
            rest[..<sign].contains(":")
        else { return nil }
        let parts = rest[rest.index(after: sign)...].split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let hours = Int(parts[0]), (0...14).contains(hours), let minutes = Int(parts[1]),
            (0...59).contains(minutes)
        else { throw mistake }
        let offset = (hours * 60 + minutes) * 60
        let isWest = rest[sign] == "-"
        rest = rest[..<sign]
        return isWest ? -offset : offset
    }

    private static func clock(_ text: Substring) -> (Int, Int, Int)? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), parts.allSatisfy({ $0.count == 2 }),
            let hour = Int(parts[0]), (0...23).contains(hour),
            let minute = Int(parts[1]), (0...59).contains(minute),
            let second = parts.count == 3 ? Int(parts[2]) : 0, (0...59).contains(second)
        else { return nil }
        return (hour, minute, second)
    }

    private static let mistake = ValidationError(
        "write a time as +2h, 22:00, 2026-11-22 or 2026-11-22T06:30, with Z or +01:00 for another time zone")
}
