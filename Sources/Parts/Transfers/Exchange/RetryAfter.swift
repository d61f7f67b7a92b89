import NightshiftAPI

/// The value of a `Retry-After` field (RFC 9110, section 10.2.3).
package enum RetryAfter: Hashable, Sendable {
    case seconds(Double)
    /// A date in seconds since 1970.
    case date(Double)

    /// Parses a number of seconds or a date; returns nil for anything else. Fractions of seconds, which some servers
    /// send, are accepted.
    package init?(field: String) {
        if let date = HTTPDate.parse(field) {
            self = .date(date)
            return
        }
        var scanner = FieldScanner(field)
        scanner.skipSpaces()
        let digits = scanner.consume(until: { !$0.isASCIIDigit && $0 != 0x2E })
        scanner.skipSpaces()
        guard scanner.isAtEnd, digits.first?.isASCIIDigit == true,
            let seconds = Double(String(decoding: digits, as: UTF8.self)), seconds.isFinite
        else { return nil }
        self = .seconds(seconds)
    }
}
