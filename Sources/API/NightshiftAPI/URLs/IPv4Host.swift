/// A parser for IPv4 addresses in all forms that the URL Standard accepts: `127.0.0.1`, `127.1`, `0x7f.1`,
/// `0177.0.0.1`, `2130706433`.
///
/// libcurl accepts the same forms. If a host kept its original form, it would name a different origin than the one to
/// which libcurl connects.
enum IPv4Host {
    /// Returns whether `host` must be an address, because no domain name ends in a number.
    static func endsInNumber(_ host: String) -> Bool {
        let label = host.utf8.last == UInt8(ascii: ".") ? host.utf8.dropLast() : host.utf8[...]
        // Every number begins with a digit.
        let start = label.lastIndex(of: UInt8(ascii: ".")).map(label.index(after:)) ?? label.startIndex
        guard start < label.endIndex, label[start].isASCIIDigit, let last = labels(host).last else { return false }
        return last.utf8.allSatisfy(\.isASCIIDigit) || number(last) != nil
    }

    /// Returns the address as four decimal numbers; nil if `host` is not an address.
    static func canonical(_ host: String) -> String? {
        let labels = labels(host)
        let numbers = labels.compactMap(number)
        guard numbers.count == labels.count, let last = numbers.last, numbers.count <= 4,
            numbers.dropLast().allSatisfy({ $0 < 256 }), last < 1 << (8 * (5 - numbers.count))
        else { return nil }
        let address = numbers.dropLast().enumerated().reduce(last) { $0 + $1.element << (8 * (3 - $1.offset)) }
        return [24, 16, 8, 0].map { String(address >> $0 & 255) }.joined(separator: ".")
    }

    /// Returns the labels of the host. One dot at the end is ignored.
    private static func labels(_ host: String) -> [Substring] {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return labels.count > 1 && labels.last?.isEmpty == true ? labels.dropLast() : labels
    }

    /// Parses a number that is octal after `0`, hexadecimal after `0x`, and otherwise decimal. Returns nil for any
    /// other text. The result is at most 2^32.
    private static func number(_ label: Substring) -> UInt64? {
        let isHexadecimal = label.hasPrefix("0x") || label.hasPrefix("0X")
        let radix: UInt64 = isHexadecimal ? 16 : label.hasPrefix("0") && label.utf8.count > 1 ? 8 : 10
        guard !label.isEmpty else { return nil }
        var value: UInt64 = 0
        for byte in isHexadecimal ? label.utf8.dropFirst(2) : label.utf8.dropFirst(0) {
            guard let digit = byte.hexValue, UInt64(digit) < radix else { return nil }
            value = min(value * radix + UInt64(digit), 1 << 32)
        }
        return value
    }
}
