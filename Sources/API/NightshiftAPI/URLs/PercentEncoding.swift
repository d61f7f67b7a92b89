/// Functions for percent-encoding (RFC 3986, section 2.1), with the character sets of the WHATWG URL Standard.
package enum PercentEncoding {
    package enum Component {
        case path
        case query

        /// A table that says for each byte whether it may remain unencoded. `%` may, so that encoded text stays
        /// unchanged.
        fileprivate var allowed: [Bool] {
            switch self {
            case .path: PercentEncoding.allowedInPath
            case .query: PercentEncoding.allowedInQuery
            }
        }
    }

    private static let allowedInPath = table(without: "\"#<>?`{}^")
    private static let allowedInQuery = table(without: "\"#<>'")

    private static func table(without reserved: String) -> [Bool] {
        let bytes = Array(reserved.utf8)
        return (UInt8.min...UInt8.max).map { $0 > 0x20 && $0 < 0x7F && !bytes.contains($0) }
    }

    package static func encode(_ bytes: some Sequence<UInt8>, for component: Component) -> String {
        let allowed = component.allowed
        var result: [UInt8] = []
        for byte in bytes {
            if allowed[Int(byte)] {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Decodes bytes. A `%` without two hexadecimal digits stays unchanged.
    package static func decode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let high = digits.first?.hexValue,
                let low = digits.dropFirst().first?.hexValue
            {
                result.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)
}
