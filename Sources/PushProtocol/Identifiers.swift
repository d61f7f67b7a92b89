/// Sixteen bytes, written as a canonical lower-case UUID: 8-4-4-4-12 hexadecimal digits.
package struct Identifier: Hashable, Sendable, CustomStringConvertible {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A random one (RFC 9562, version 4).
    package init(using generator: inout some RandomNumberGenerator) {
        high = generator.next() & ~0xF000 | 0x4000
        low = generator.next() & ~(0b11 << 62) | 0b10 << 62
    }

    /// Nil for other lengths than 16.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Nil for whatever is not the canonical form; upper-case digits are taken where `lenient`.
    package init?(_ text: String, lenient: Bool = false) {
        let utf8 = Array(text.utf8)
        guard utf8.count == 36 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        var pending: UInt8?
        for (index, character) in utf8.enumerated() {
            if [8, 13, 18, 23].contains(index) {
                guard character == 0x2D else { return nil }
                continue
            }
            let digit: UInt8
            switch character {
            case 0x30...0x39: digit = character - 0x30
            case 0x61...0x66: digit = character - 0x61 + 10
            case 0x41...0x46 where lenient: digit = character - 0x41 + 10
            default: return nil
            }
            if let first = pending {
                bytes.append(first << 4 | digit)
                pending = nil
            } else {
                pending = digit
            }
        }
        self.init(bytes: bytes)
    }

    package var bytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) }
            + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * $0)) }
    }

    package var description: String {
        var text = ""
        text.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append("-") }
            text.append(Self.digits[Int(byte >> 4)])
            text.append(Self.digits[Int(byte & 15)])
        }
        return text
    }

    private static let digits = Array("0123456789abcdef")
}

/// A push, as `apns-id` names it.
package typealias PushID = Identifier

/// A device, as the gateway named it at its enrolment.
package typealias DeviceID = Identifier
