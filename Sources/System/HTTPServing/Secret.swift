/// A secret that clients must send. A new one has 256 random bits, written as 64 hexadecimal digits.
package struct Secret: Hashable, Sendable {
    package let text: String

    /// Creates a random secret.
    package init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    package init(text: String) {
        self.text = text
    }

    package init(using generator: inout some RandomNumberGenerator) {
        text = (0..<4).map { _ in Self.hex(generator.next()) }.joined()
    }

    /// Returns whether `candidate` is this secret. A comparison with a text of the right length takes constant time.
    package func matches(_ candidate: some StringProtocol) -> Bool {
        let (own, other) = (Array(text.utf8), Array(candidate.utf8))
        guard own.count == other.count else { return false }
        return zip(own, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
