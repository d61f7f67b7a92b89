import NightshiftAPI

/// The value of a `Content-Range` field (RFC 9110, section 14.4).
package enum ContentRange: Hashable, Sendable {
    /// The bytes `first` to `last`, both included, of a representation of `total` bytes; nil if the total is unknown.
    case bytes(first: Int64, last: Int64, total: Int64?)
    /// The range is not satisfiable. The representation has `total` bytes.
    case unsatisfied(total: Int64)

    /// Parses a field that is well-formed and consistent: `first` ≤ `last` < `total`. Returns nil for any other field.
    ///
    /// `bytes=0-1/2`, which some servers send, is accepted as well: its meaning is unambiguous.
    package init?(field: String) {
        var scanner = FieldScanner(field)
        scanner.skipSpaces()
        guard scanner.consumeIgnoringCase("bytes"), scanner.consume("=") || scanner.skipSpaces() else { return nil }
        scanner.skipSpaces()
        if scanner.consume("*") {
            guard scanner.consume("/"), let total = scanner.number() else { return nil }
            self = .unsatisfied(total: total)
        } else {
            guard let first = scanner.number(), scanner.consume("-"), let last = scanner.number(), scanner.consume("/"),
                first <= last, last < Int64.max
            else { return nil }
            if scanner.consume("*") {
                self = .bytes(first: first, last: last, total: nil)
            } else {
                guard let total = scanner.number(), last < total else { return nil }
                self = .bytes(first: first, last: last, total: total)
            }
        }
        scanner.skipSpaces()
        guard scanner.isAtEnd else { return nil }
    }
}
