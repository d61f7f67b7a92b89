/// The topic of one UnifiedPush registration: `unifiedpush:` and 32 random hexadecimal digits, which the device
/// chooses.
///
/// The topics of apps do not contain a colon. A UnifiedPush topic therefore does not belong to a team, and APNs
/// providers cannot send to it.
package struct UnifiedPushTopic: Sendable, Hashable {
    package let text: String

    package static let prefix = "unifiedpush:"
    private static let digits = 32

    /// Creates a random topic.
    package init(using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<(Self.digits / 2)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        text = Self.prefix + bytes.map { (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
    }

    /// Parses a topic. Returns nil if the text does not have this form.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let rest = text.utf8.dropFirst(Self.prefix.utf8.count)
        guard rest.count == Self.digits, rest.allSatisfy(Self.isDigit) else { return nil }
        self.text = text
    }

    private static func isDigit(_ character: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(character)
    }
}
