/// 256 bits that nobody can guess, written as 64 hexadecimal digits.
struct Secret: Hashable, Sendable {
    let text: String

    /// A new one.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    init(using generator: inout some RandomNumberGenerator) {
        text = (0..<4).map { _ in Self.hex(generator.next()) }.joined()
    }

    /// Takes as long for any candidate of the right length: how much of it is right cannot be measured.
    func matches(_ candidate: some StringProtocol) -> Bool {
        let (own, other) = (Array(text.utf8), Array(candidate.utf8))
        guard own.count == other.count else { return false }
        return zip(own, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
