package import Foundation

/// A parser and formatter for times as defined by RFC 3339, section 5.6. The whole text must be a time.
package enum Timestamp {
    /// The earliest time with a four-digit year in whole seconds: 0001-01-01, UTC.
    package static let first = Date(timeIntervalSince1970: -62_135_596_800)
    /// The latest time with a four-digit year in whole seconds: 9999-12-31T23:59:59, UTC.
    package static let last = Date(timeIntervalSince1970: 253_402_300_799)

    /// Parses a time such as `2026-11-21T06:00:00Z` or `2026-11-21T07:30:00.25+01:30`. Returns nil for any other text.
    package static func date(_ text: String) -> Date? {
        var scanner = Scanner(rest: text.utf8[...])
        guard let year = scanner.number(4), scanner.skip("-"),
            let month = scanner.number(2), scanner.skip("-"),
            let day = scanner.number(2), scanner.skip("Tt"),
            let hour = scanner.number(2), scanner.skip(":"),
            let minute = scanner.number(2), scanner.skip(":"),
            let second = scanner.number(2),
            let fraction = scanner.fraction(), let offset = scanner.offset(), scanner.rest.isEmpty,
            (1...12).contains(month), (1...days(in: month, of: year)).contains(day),
            hour < 24, minute < 60, second <= 60  // The second may be 60 because of leap seconds.
        else { return nil }
        let seconds = dayNumber(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }

    /// Returns a time in UTC with milliseconds: `2026-11-21T06:00:00.000Z`.
    ///
    /// Foundation's format style is not used, because it writes times before 1582 in a different calendar than RFC
    /// 3339. A single time that clients cannot read would make a whole response unreadable, such as the list of all
    /// transfers. Times outside ``first`` and ``last`` are therefore clamped.
    package static func text(_ date: Date) -> String {
        let bounds = first.timeIntervalSince1970...last.timeIntervalSince1970
        // Fractions of a millisecond are cut off. Some whole milliseconds are slightly smaller in binary, so 0.1 ms is
        // added to prevent these from being cut.
        let seconds = (date.timeIntervalSince1970 + 0.000_1).limited(to: bounds, or: bounds.upperBound)
        let milliseconds = Int(saturating: (seconds * 1_000).rounded(.down))
        let (day, rest) = milliseconds.quotientAndRemainder(flooring: 86_400_000)
        let (year, month, dayOfMonth) = civilDay(day)
        let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60)
        return "\(padded(year, 4))-\(padded(month))-\(padded(dayOfMonth))"
            + "T\(padded(hour)):\(padded(minute)):\(padded(second)).\(padded(rest % 1_000, 3))Z"
    }

    private static func padded(_ number: Int, _ count: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    /// Returns the date of a day number. It is the inverse of ``dayNumber(_:_:_:)``.
    private static func civilDay(_ number: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = (number + 719_468).quotientAndRemainder(flooring: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Returns the number of days since 1970-01-01 in the Gregorian calendar. A year begins in March in this
    /// calculation, so that the leap day is its last day.
    private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private struct Scanner {
        var rest: Substring.UTF8View

        mutating func skip(_ allowed: String) -> Bool {
            guard let first = rest.first, allowed.utf8.contains(first) else { return false }
            rest.removeFirst()
            return true
        }

        /// Reads a number of exactly `count` digits.
        mutating func number(_ count: Int) -> Int? {
            let digits = rest.prefix(count)
            guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            rest.removeFirst(count)
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }

        /// Reads a fraction. Returns 0 if no point follows, and nil if a point has no digits after it.
        mutating func fraction() -> Double? {
            guard skip(".") else { return 0 }
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty else { return nil }
            rest.removeFirst(digits.count)
            return Double("0.\(Substring(digits))")
        }

        /// Reads an offset. Returns the number of seconds ahead of UTC.
        mutating func offset() -> Int? {
            if skip("Zz") { return 0 }
            let sign = rest.first == 0x2D ? -1 : 1
            guard skip("+-"), let hours = number(2), skip(":"), let minutes = number(2), hours < 24, minutes < 60 else {
                return nil
            }
            return sign * (hours * 3_600 + minutes * 60)
        }
    }
}

extension Int {
    /// Returns the quotient and the remainder of a division that rounds down.
    fileprivate func quotientAndRemainder(flooring divisor: Int) -> (Int, Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
