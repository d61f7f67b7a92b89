/// The identifier of a download, as clients of aria2 write it: 16 hexadecimal digits. Zero is not an identifier.
struct GID: Hashable, Comparable, Sendable, Codable {
    let number: UInt64

    /// Creates a random identifier.
    init() {
        number = UInt64.random(in: 1...UInt64.max)
    }

    /// Parses the 16 digits of an identifier.
    init?(_ text: String) {
        guard text.utf8.count == Self.digits, let prefix = Prefix(text), prefix.first != 0 else { return nil }
        number = prefix.first
    }

    var text: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: Self.digits - digits.count) + digits
    }

    static func < (left: GID, right: GID) -> Bool { left.number < right.number }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let gid = GID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is not a GID.")
        }
        self = gid
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    private static let digits = 16

    /// The first digits of an identifier, with which a client may name a download.
    struct Prefix: Hashable, Sendable {
        /// The first and the last number that begin with these digits.
        let first: UInt64
        let last: UInt64

        /// Parses 1 to 16 hexadecimal digits.
        init?(_ text: String) {
            let count = text.utf8.count
            guard (1...GID.digits).contains(count), text.utf8.allSatisfy(Self.isHexDigit),
                let number = UInt64(text, radix: 16)
            else { return nil }
            let bits = UInt64(GID.digits - count) * 4
            first = number << bits
            last = first | (bits == 0 ? 0 : UInt64.max >> (64 - bits))
        }

        func matches(_ gid: GID) -> Bool { (first...last).contains(gid.number) }

        private static func isHexDigit(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                true
            default: false
            }
        }
    }
}
