/// The properties of a payload that determine its delivery. The gateway and the device share this definition.
///
/// A gateway limits the pushes that only wake an app. A device must not wake an app for a push that the gateway treated
/// as an alert.
package struct PayloadFacts: Sendable, Hashable {
    /// Whether the push asks to wake the app: `content-available` is 1 or `true`.
    package var isContentAvailable = false
    /// Whether the user would notice the push: it has an alert with text, a sound with a name, or a badge with a
    /// number. A text without visible characters, an empty object and `null` do not count.
    package var isVisible: Bool { hasAlert || hasSound || hasBadge }

    private var hasAlert = false
    private var hasSound = false
    private var hasBadge = false

    /// The names of the members of an alert object whose texts are shown.
    package static let alertTexts: [StaticString] = [
        "title", "title-loc-key", "subtitle", "subtitle-loc-key", "body", "loc-key",
    ]

    /// Scans a payload. Returns nil if the payload is not a JSON object.
    package init?(_ payload: [UInt8]) {
        // If a name is repeated, the last value counts. Foundation, which apps use, does the same.
        let facts = payload.withUnsafeBufferPointer { bytes -> PayloadFacts? in
            var scanner = JSONScanner(bytes)
            var facts = PayloadFacts()
            let object: Void? = try? scanner.document { (scanner, key) throws(JSONScanner.Malformed) in
                guard key.is("aps") else { return try scanner.skipValue() }
                facts = PayloadFacts()
                guard scanner.isAtObject else { return try scanner.skipValue() }
                try facts.read(&scanner)
            }
            return object == nil ? nil : facts
        }
        guard let facts, JSONScanner.isUnicode(payload) else { return nil }
        self = facts
    }

    private init() {}

    private mutating func read(_ scanner: inout JSONScanner) throws(JSONScanner.Malformed) {
        var facts = self
        try scanner.object { (scanner, key) throws(JSONScanner.Malformed) in
            if key.is("content-available") {
                facts.isContentAvailable = try scanner.wholeNumber() == 1
            } else if key.is("alert") {
                facts.hasAlert = try Self.hasText(&scanner, in: Self.alertTexts)
            } else if key.is("sound") {
                facts.hasSound = try Self.hasText(&scanner, in: ["name"])
            } else if key.is("badge") {
                facts.hasBadge = try scanner.wholeNumber() != nil
            } else {
                try scanner.skipValue()
            }
        }
        self = facts
    }

    /// Reads a string, or the strings with certain names in an object. Returns whether any of the strings has a visible
    /// character.
    private static func hasText(
        _ scanner: inout JSONScanner, in names: [StaticString]
    ) throws(JSONScanner.Malformed) -> Bool {
        guard scanner.isAtObject else { return try scanner.hasVisibleText() }
        var isVisible = names.map { _ in false }
        try scanner.object { (scanner, key) throws(JSONScanner.Malformed) in
            guard let index = names.firstIndex(where: { key.is($0) }) else { return try scanner.skipValue() }
            isVisible[index] = try scanner.hasVisibleText()
        }
        return isVisible.contains(true)
    }
}

extension StringProtocol {
    /// Whether the text has a visible character: not a space, not a control character, and not a character that is
    /// never drawn.
    package var hasVisibleCharacters: Bool {
        unicodeScalars.contains { scalar in
            let properties = scalar.properties
            guard !properties.isWhitespace, !properties.isDefaultIgnorableCodePoint else { return false }
            return properties.generalCategory != .control && properties.generalCategory != .format
        }
    }
}
