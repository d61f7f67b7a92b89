/// A parser and formatter for dates in header fields (RFC 9110, section 5.6.7).
///
/// The project has its own implementation because it runs for every response and must not depend on a locale.
package enum HTTPDate {
    /// Parses any of the three formats that recipients have to accept. Returns the seconds since 1970, or nil for any
    /// other text.
    ///
    /// The name of the day is not compared with the date. Two-digit years of the RFC 850 format are read as 1970 to
    /// 2069, because the rule of RFC 9110 ("not more than 50 years ahead") would need a clock.
    package static func parse(_ text: String) -> Double? {
        var scanner = FieldScanner(text)
        scanner.skipSpaces()
        let dayName = scanner.consume(until: { !$0.isASCIILetter })
        guard dayName.count >= 3 else { return nil }
        let fields: Fields?
        if scanner.consume(",") {
            scanner.skipSpaces()
            fields = dayFirst(&scanner)
        } else {
            fields = asctime(&scanner)
        }
        scanner.skipSpaces()
        guard let fields, scanner.isAtEnd else { return nil }
        return fields.secondsSince1970
    }

    /// Formats a time like `Sun, 06 Nov 1994 08:49:37 GMT`. Times before 1970 are changed to 1970, and times after 9999
    /// to the end of 9999.
    package static func format(_ seconds: Double) -> String {
        let latest = 253_402_300_799.0
        let whole = Int64(saturating: max(0, min(seconds.isNaN ? 0 : seconds, latest)))
        let (days, time) = whole.quotientAndRemainder(dividingBy: 86_400)
        let date = CivilDate(daysSince1970: days)
        let dayName = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
        let month = months[Int(date.month - 1)]
        let clock = "\(padded(time / 3600)):\(padded(time / 60 % 60)):\(padded(time % 60))"
        return "\(dayName), \(padded(date.day)) \(month) \(padded(date.year, to: 4)) \(clock) GMT"
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func padded(_ number: Int64, to width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// Parses `06 Nov 1994 08:49:37 GMT` or `06-Nov-94 08:49:37 GMT`.
    private static func dayFirst(_ scanner: inout FieldScanner) -> Fields? {
        guard let day = scanner.number(digits: 1...2) else { return nil }
        let dashes = scanner.consume("-")
        if !dashes, !scanner.skipSpaces() { return nil }
        guard let month = month(&scanner), dashes ? scanner.consume("-") : scanner.skipSpaces() else { return nil }
        let start = scanner.position
        guard var year = scanner.number(digits: 2...4) else { return nil }
        switch scanner.position - start {
        case 2: year += year < 70 ? 2000 : 1900
        case 4: break
        default: return nil
        }
        guard scanner.skipSpaces(), let time = time(&scanner), scanner.skipSpaces() else { return nil }
        guard scanner.consumeIgnoringCase("gmt") || scanner.consumeIgnoringCase("utc") else { return nil }
        return Fields(year: year, month: month, day: day, time: time)
    }

    /// Parses `Nov  6 08:49:37 1994`.
    private static func asctime(_ scanner: inout FieldScanner) -> Fields? {
        guard scanner.skipSpaces(), let month = month(&scanner), scanner.skipSpaces(),
            let day = scanner.number(digits: 1...2), scanner.skipSpaces(), let time = time(&scanner),
            scanner.skipSpaces(), let year = scanner.number(digits: 4...4)
        else { return nil }
        return Fields(year: year, month: month, day: day, time: time)
    }

    private static func month(_ scanner: inout FieldScanner) -> Int64? {
        let name = String(decoding: scanner.consume(until: { !$0.isASCIILetter }), as: UTF8.self).lowercased()
        return months.firstIndex { $0.lowercased() == name }.map { Int64($0) + 1 }
    }

    private static func time(_ scanner: inout FieldScanner) -> Int64? {
        guard let hour = scanner.number(digits: 2...2), scanner.consume(":"),
            let minute = scanner.number(digits: 2...2), scanner.consume(":"),
            let second = scanner.number(digits: 2...2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private struct Fields {
        var year: Int64
        var month: Int64
        var day: Int64
        /// The number of seconds since midnight.
        var time: Int64

        var secondsSince1970: Double? {
            let days = CivilDate.daysSince1970(year: year, month: month, day: day)
            // If a day does not exist in its month, the conversion back gives a different date.
            let date = CivilDate(daysSince1970: days)
            guard date.day == day, date.month == month else { return nil }
            return Double(days * 86_400 + time)
        }
    }
}

/// A date of the Gregorian calendar. The algorithms are Howard Hinnant's `days_from_civil` and `civil_from_days`.
private struct CivilDate {
    var year: Int64
    var month: Int64
    var day: Int64

    init(daysSince1970 days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
