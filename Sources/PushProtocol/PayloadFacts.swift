/// The facts of a payload that decide how it is delivered: one definition, for gateway and device alike.
///
/// A gateway limits the pushes that only wake an app, and a device must not wake one for what the gateway took for an alert.
package struct PayloadFacts: Sendable, Hashable {
    /// Whether the app is to be woken: `content-available` is 1 or `true`.
    package var isContentAvailable = false
    /// Whether there is something for the user: an alert with a text, a sound with a name, or a badge with a number.
    ///
    /// A text without a visible character is none, and neither is an empty object or `null`.
    package var isVisible: Bool { hasAlert || hasSound || hasBadge }

    private var hasAlert = false
    private var hasSound = false
    private var hasBadge = false

    /// Members of an alert's object that are shown.
    package static let alertTexts: [StaticString] = [
        "title", "title-loc-key", "subtitle", "subtitle-loc-key", "body", "loc-key",
    ]

    /// Nil for what is not a JSON object.
    package init?(_ payload: [UInt8]) {
        // Of a name that occurs twice the last one counts, as in Foundation, with which apps read it.
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

    /// Reads a text, or an object with texts under some names, and returns whether any of them has a visible character.
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
    /// Whether something of it would be seen: neither space nor control nor a character that is never drawn.
    package var hasVisibleCharacters: Bool {
        unicodeScalars.contains { scalar in
            let properties = scalar.properties
            guard !properties.isWhitespace, !properties.isDefaultIgnorableCodePoint else { return false }
            return properties.generalCategory != .control && properties.generalCategory != .format
        }
    }
}
