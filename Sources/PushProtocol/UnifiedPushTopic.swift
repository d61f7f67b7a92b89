/// The topic of one registration for UnifiedPush: `unifiedpush:` and 32 hexadecimal digits, which its device draws.
///
/// No app's topic has a colon, so it needs no team, and no provider of APNs can name it.
package struct UnifiedPushTopic: Sendable, Hashable {
    package let text: String

    package static let prefix = "unifiedpush:"
    private static let digits = 32

    /// A random one.
    package init(using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<(Self.digits / 2)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        text = Self.prefix + bytes.map { (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
    }

    /// Nil for whatever is not of this form.
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
