/// A scanner that reads the bytes of a header field from left to right. It never traps, whatever the bytes are.
package struct FieldScanner {
    private let bytes: [UInt8]
    package private(set) var position = 0

    package init(_ text: String) {
        bytes = Array(text.utf8)
    }

    package var isAtEnd: Bool { position >= bytes.count }

    package var next: UInt8? { isAtEnd ? nil : bytes[position] }

    package mutating func advance() {
        if !isAtEnd { position += 1 }
    }

    /// Consumes `character` if it comes next.
    package mutating func consume(_ character: Unicode.Scalar) -> Bool {
        guard let next, next == UInt8(truncatingIfNeeded: character.value) else { return false }
        position += 1
        return true
    }

    /// Consumes `text` if it comes next, ignoring case. `text` must be lower-case ASCII.
    package mutating func consumeIgnoringCase(_ text: StaticString) -> Bool {
        let wanted = text.withUTF8Buffer { Array($0) }
        guard bytes.count - position >= wanted.count else { return false }
        for (offset, byte) in wanted.enumerated() where bytes[position + offset].asciiLowercased != byte {
            return false
        }
        position += wanted.count
        return true
    }

    /// Skips spaces and tabs. Returns whether there were any.
    @discardableResult
    package mutating func skipSpaces() -> Bool {
        let start = position
        while let next, next == 0x20 || next == 0x09 { position += 1 }
        return position > start
    }

    /// Reads a number whose count of digits is in `range`. Returns nil if there are fewer digits or if the number does
    /// not fit. Further digits stay unread.
    package mutating func number(digits range: ClosedRange<Int> = 1...19) -> Int64? {
        var value: Int64 = 0
        var count = 0
        while count < range.upperBound, let next, next.isASCIIDigit {
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, stillTooLarge) = product.addingReportingOverflow(Int64(next - 0x30))
            if tooLarge || stillTooLarge { return nil }
            value = sum
            count += 1
            position += 1
        }
        return count >= range.lowerBound ? value : nil
    }

    /// Consumes the bytes up to the first one for which `stop` returns true, or up to the end.
    package mutating func consume(until stop: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        while let next, !stop(next) { position += 1 }
        return bytes[start..<position]
    }
}

extension UInt8 {
    package var isASCIIDigit: Bool { self >= 0x30 && self <= 0x39 }

    package var isASCIILetter: Bool { asciiLowercased >= 0x61 && asciiLowercased <= 0x7A }

    package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

    /// The value of a hexadecimal digit.
    package var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}

extension String {
    /// The text without leading and trailing spaces and tabs.
    package var trimmedOfBlanks: String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = utf8.firstIndex(where: { !isBlank($0) }), let last = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(self[first...last])
    }
}
