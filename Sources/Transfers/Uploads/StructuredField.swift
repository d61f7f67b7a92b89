import NightshiftAPI

/// Structured fields (RFC 9651), as far as resumable uploads have them, read as strictly as they are defined.
///
/// A field that is not grammatical, or that comes twice where one item is wanted, is as if it were not there.
package enum StructuredField {
    /// A value: what uploads use, and that there was something else.
    package enum Value: Hashable, Sendable {
        case integer(Int64)
        case boolean(Bool)
        case other
    }

    /// The one item that the field's lines hold, its parameters left out.
    package static func item(_ lines: [String]) -> Value? {
        guard lines.count == 1, let line = lines.first else { return nil }
        var reader = StructuredFieldReader(line)
        guard let value = reader.item(), reader.isAtEnd else { return nil }
        return value
    }

    package static func boolean(_ lines: [String]) -> Bool? {
        guard case .boolean(let value)? = item(lines) else { return nil }
        return value
    }

    /// An integer that is not negative: sizes and offsets.
    package static func count(_ lines: [String]) -> Int64? {
        guard case .integer(let value)? = item(lines), value >= 0 else { return nil }
        return value
    }

    /// The members by their keys, of two with the same key the last; nil where the field is missing or not grammatical.
    package static func dictionary(_ lines: [String]) -> [String: Value]? {
        guard !lines.isEmpty else { return nil }
        var reader = StructuredFieldReader(lines.joined(separator: ", "))
        return reader.dictionary()
    }
}

/// Reads structured fields from left to right (RFC 9651, section 4.2). Never traps, whatever the bytes are.
private struct StructuredFieldReader {
    private var scanner: FieldScanner

    init(_ text: String) {
        scanner = FieldScanner(text)
        skipSpaces()
    }

    /// At the end, behind spaces.
    var isAtEnd: Bool {
        var rest = self
        rest.skipSpaces()
        return rest.scanner.isAtEnd
    }

    mutating func dictionary() -> [String: StructuredField.Value]? {
        var members: [String: StructuredField.Value] = [:]
        if isAtEnd { return members }
        while true {
            guard let key = key() else { return nil }
            if scanner.take("=") {
                guard let value = scanner.next == UInt8(ascii: "(") ? innerList() : item() else { return nil }
                members[key] = value
            } else {
                guard parameters() else { return nil }
                members[key] = .boolean(true)
            }
            if isAtEnd { return members }
            scanner.skipSpaces()
            guard scanner.take(",") else { return nil }
            scanner.skipSpaces()
            // A comma at the end is an error.
            if scanner.isAtEnd { return nil }
        }
    }

    mutating func item() -> StructuredField.Value? {
        guard let value = bareItem(), parameters() else { return nil }
        return value
    }

    private mutating func innerList() -> StructuredField.Value? {
        guard scanner.take("(") else { return nil }
        while true {
            skipSpaces()
            if scanner.take(")") { return parameters() ? .other : nil }
            guard item() != nil, scanner.next == 0x20 || scanner.next == UInt8(ascii: ")") else { return nil }
        }
    }

    /// False where they are not grammatical.
    private mutating func parameters() -> Bool {
        while scanner.take(";") {
            skipSpaces()
            guard key() != nil else { return false }
            if scanner.take("="), bareItem() == nil { return false }
        }
        return true
    }

    private mutating func key() -> String? {
        guard let first = scanner.next, first.isLowercaseLetter || first == UInt8(ascii: "*") else { return nil }
        let bytes = scanner.take(until: {
            !($0.isLowercaseLetter || $0.isASCIIDigit || "_-.*".utf8.contains($0))
        })
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func bareItem() -> StructuredField.Value? {
        guard let first = scanner.next else { return nil }
        switch first {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
        case UInt8(ascii: "?"): return boolean()
        case UInt8(ascii: "\""): return string() ? .other : nil
        case UInt8(ascii: ":"): return byteSequence() ? .other : nil
        case UInt8(ascii: "@"):
            scanner.advance()
            guard case .integer? = number() else { return nil }
            return .other
        case UInt8(ascii: "%"): return displayString() ? .other : nil
        case UInt8(ascii: "*"): return token()
        default: return first.isASCIILetter ? token() : nil
        }
    }

    /// At most 15 digits, or 12 and 3 behind a point.
    private mutating func number() -> StructuredField.Value? {
        let isNegative = scanner.take("-")
        let start = scanner.position
        guard let value = scanner.number(digits: 1...15), scanner.next?.isASCIIDigit != true else { return nil }
        let digits = scanner.position - start
        guard scanner.take(".") else { return .integer(isNegative ? -value : value) }
        guard digits <= 12, scanner.number(digits: 1...3) != nil, scanner.next?.isASCIIDigit != true else { return nil }
        return .other
    }

    private mutating func boolean() -> StructuredField.Value? {
        guard scanner.take("?") else { return nil }
        if scanner.take("1") { return .boolean(true) }
        return scanner.take("0") ? .boolean(false) : nil
    }

    private mutating func string() -> Bool {
        guard scanner.take("\"") else { return false }
        while let byte = scanner.next {
            scanner.advance()
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"):
                guard let escaped = scanner.next, escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
                    return false
                }
                scanner.advance()
            case 0x20...0x7E: break
            default: return false
            }
        }
        return false
    }

    private mutating func displayString() -> Bool {
        guard scanner.take("%"), scanner.take("\"") else { return false }
        _ = scanner.take(until: { $0 == UInt8(ascii: "\"") || $0 < 0x20 || $0 > 0x7E })
        return scanner.take("\"")
    }

    private mutating func byteSequence() -> Bool {
        guard scanner.take(":") else { return false }
        _ = scanner.take(until: { !($0.isASCIILetter || $0.isASCIIDigit || "+/=".utf8.contains($0)) })
        return scanner.take(":")
    }

    private mutating func token() -> StructuredField.Value {
        _ = scanner.take(until: {
            !($0.isASCIILetter || $0.isASCIIDigit || "!#$%&'*+-.^_`|~:/".utf8.contains($0))
        })
        return .other
    }

    /// Spaces alone, as around items; between the members of a dictionary tabs may stand, too.
    private mutating func skipSpaces() {
        while scanner.take(" ") {}
    }
}

extension UInt8 {
    fileprivate var isLowercaseLetter: Bool { isASCIILetter && asciiLowercased == self }
}
