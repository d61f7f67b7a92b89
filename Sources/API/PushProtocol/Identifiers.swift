/// An identifier of sixteen bytes, written as a canonical lower-case UUID: 8-4-4-4-12 hexadecimal digits.
package struct Identifier: Hashable, Sendable, CustomStringConvertible {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates a random identifier (RFC 9562, version 4).
    package init(using generator: inout some RandomNumberGenerator) {
        high = generator.next() & ~0xF000 | 0x4000
        low = generator.next() & ~(0b11 << 62) | 0b10 << 62
    }

    /// Creates an identifier that sorts after those of earlier milliseconds (RFC 9562, version 7). A database index
    /// therefore adds it at its end. Of its bits, 74 are random.
    ///
    /// - Parameter milliseconds: the time in milliseconds since 1970.
    package init(at milliseconds: Int64, using generator: inout some RandomNumberGenerator) {
        high = UInt64(bitPattern: milliseconds) << 16 | 0x7000 | generator.next() & 0x0FFF
        low = generator.next() & ~(0b11 << 62) | 0b10 << 62
    }

    /// Returns nil if the number of bytes is not 16.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Parses the canonical form, and returns nil for any other text. If `lenient` is true, upper-case digits are
    /// accepted too.
    package init?(_ text: String, lenient: Bool = false) {
        var (high, low): (UInt64, UInt64) = (0, 0)
        var count = 0
        for character in text.utf8 {
            defer { count += 1 }
            switch count {
            case 8, 13, 18, 23:
                guard character == 0x2D else { return nil }
                continue
            case 36...: return nil
            default: break
            }
            let digit: UInt8
            switch character {
            case 0x30...0x39: digit = character - 0x30
            case 0x61...0x66: digit = character - 0x61 + 10
            case 0x41...0x46 where lenient: digit = character - 0x41 + 10
            default: return nil
            }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit)
        }
        guard count == 36 else { return nil }
        self.init(high: high, low: low)
    }

    package var bytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) }
            + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * $0)) }
    }

    package var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var at = 0
            for index in 0..<32 {
                // Hyphens follow the first eight digits, and each of the next three groups of four digits.
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    text[at] = 0x2D
                    at += 1
                }
                let half = index < 16 ? high : low
                let digit = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (index & 15))) & 15
                text[at] = digit < 10 ? 0x30 + digit : 0x61 + digit - 10
                at += 1
            }
            return at
        }
    }
}

/// The identifier of a push, which providers know as `apns-id`.
package typealias PushID = Identifier

/// The identifier of a device, assigned by the gateway at enrolment.
package typealias DeviceID = Identifier
