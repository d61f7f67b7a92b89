import NightshiftAPI

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110, section 11.6.1).
struct AuthenticationOffer: Hashable {
    /// The scheme in lower case.
    var scheme: String
    /// The parameters by lower-case name. If a name occurs twice, its first value is used.
    var parameters: [String: String] = [:]
    /// The token68 that a challenge has instead of parameters, such as the first token of Negotiate.
    var token: String?

    var realm: String? { parameters["realm"] }

    /// Returns all challenges in the fields of that name, in order. Text that violates the grammar is skipped.
    static func all(in headers: [HeaderField], field name: String) -> [AuthenticationOffer] {
        let name = name.lowercased()
        return headers.filter { $0.name.lowercased() == name }.flatMap { parse($0.value) }
    }

    /// Returns the challenges in the value of one field.
    static func parse(_ value: String) -> [AuthenticationOffer] {
        var reader = OfferReader(value)
        return reader.offers()
    }
}

/// A reader for a list of challenges. Commas separate both the challenges and the parameters of one challenge.
private struct OfferReader {
    private let bytes: [UInt8]
    private var position = 0
    /// The position of the first quoted string that is never closed. No quote after this position begins a string,
    /// because each one is an escaped part of the unclosed string.
    private var open = Int.max

    init(_ value: String) {
        bytes = Array(value.utf8)
    }

    mutating func offers() -> [AuthenticationOffer] {
        var offers: [AuthenticationOffer] = []
        // Parameters after an element that violates the grammar are ignored.
        var isOpen = false
        while true {
            skip { Self.isBlank($0) || $0 == UInt8(ascii: ",") }
            guard position < bytes.count else { return offers }
            let start = position
            if let (name, value) = parameter() {
                if isOpen, let last = offers.indices.last, offers[last].parameters[name] == nil {
                    offers[last].parameters[name] = value
                }
                continue
            }
            position = start
            isOpen = false
            if let scheme = token(), let offer = offer(scheme) {
                offers.append(offer)
                isOpen = offer.token == nil
            } else {
                skipElement()
            }
        }
    }

    /// Reads the rest of a challenge after its scheme: the end, a comma, a token68, or blanks before the first
    /// parameter.
    private mutating func offer(_ scheme: String) -> AuthenticationOffer? {
        var offer = AuthenticationOffer(scheme: scheme.lowercased())
        let end = position
        skip(Self.isBlank)
        if isAtEndOfElement { return offer }
        guard position > end else { return nil }
        let start = position
        if let (name, value) = parameter() {
            offer.parameters[name] = value
            return offer
        }
        position = start
        guard let token = token68() else { return nil }
        offer.token = token
        return offer
    }

    /// Reads `name = value` or `name = "value"`, up to the end of its element.
    private mutating func parameter() -> (name: String, value: String)? {
        guard let name = token() else { return nil }
        skip(Self.isBlank)
        guard consume(UInt8(ascii: "=")) else { return nil }
        skip(Self.isBlank)
        guard let value = quotedString() ?? token() else { return nil }
        skip(Self.isBlank)
        return isAtEndOfElement ? (name.lowercased(), value) : nil
    }

    private mutating func token() -> String? {
        let start = position
        skip { Self.isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
        return position > start ? text(bytes[start..<position]) : nil
    }

    private mutating func token68() -> String? {
        let start = position
        skip { Self.isLetterOrDigit($0) || "-._~+/".utf8.contains($0) }
        guard position > start else { return nil }
        skip { $0 == UInt8(ascii: "=") }
        let end = position
        skip(Self.isBlank)
        return isAtEndOfElement ? text(bytes[start..<end]) : nil
    }

    /// Reads a quoted string (RFC 9110, section 5.6.4). Returns nil if no string starts here, or if the string is not
    /// closed.
    private mutating func quotedString() -> String? {
        let start = position
        guard start < open, consume(UInt8(ascii: "\"")) else { return nil }
        var content: [UInt8] = []
        while position < bytes.count {
            var byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return text(content[...]) }
            if byte == UInt8(ascii: "\\"), position < bytes.count {
                byte = bytes[position]
                position += 1
            }
            content.append(byte)
        }
        position = start
        open = start
        return nil
    }

    // MARK: - Steps

    private var isAtEndOfElement: Bool { position == bytes.count || bytes[position] == UInt8(ascii: ",") }

    /// Advances to the next comma outside of quotes.
    private mutating func skipElement() {
        while !isAtEndOfElement {
            if quotedString() == nil { position += 1 }
        }
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while position < bytes.count, isSkipped(bytes[position]) { position += 1 }
    }

    private mutating func consume(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
