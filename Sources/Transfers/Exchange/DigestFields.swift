import Foundation
package import NightshiftAPI

/// Digests that a server sends along (RFC 9530).
package enum DigestFields {
    /// What the whole file has to hash to, according to a response that brings it or a part of it.
    ///
    /// `Repr-Digest` is about the whole representation, whichever part of it comes. `Content-Digest` is about the message's
    /// content, which is the whole only in a 200 that was not asked for a range.
    ///
    /// - Parameter wholeBody: whether the body of this response is the whole file.
    package static func expected(head: ResponseHead, wholeBody: Bool) -> [Checksum] {
        var result = parse(head.headers.all("Repr-Digest"))
        if wholeBody, head.status == 200 {
            for checksum in parse(head.headers.all("Content-Digest")) where !result.contains(checksum) {
                result.append(checksum)
            }
        }
        return result
    }

    /// Whether two lists of digests cannot be of the same bytes.
    package static func contradict(_ left: [Checksum], _ right: [Checksum]) -> Bool {
        left.contains { one in right.contains { $0.algorithm == one.algorithm && $0.hex != one.hex } }
    }

    /// What has to hold where both have been announced of the same bytes.
    package static func merged(_ known: [Checksum], _ more: [Checksum]) -> [Checksum] {
        known + more.filter { !known.contains($0) }
    }

    /// The sha-256 and sha-512 digests of a field, given in all its lines.
    ///
    /// Other algorithms are insecure or unknown; members that are malformed or of the wrong length are ignored, because a
    /// digest that cannot be read says nothing about the file. Of two members of the same key the last counts (RFC 9651,
    /// section 3.2).
    package static func parse(_ lines: [String]) -> [Checksum] {
        var found: [Checksum.Algorithm: String] = [:]
        var scanner = FieldScanner(lines.joined(separator: ","))
        while !scanner.isAtEnd {
            scanner.skipSpaces()
            let key = scanner.take(until: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ",") })
            let bytes = scanner.take("=") ? byteSequence(&scanner) : nil
            skipToNextMember(&scanner)
            guard let algorithm = algorithm(key) else { continue }
            let hex = bytes.map(hexadecimal)
            found[algorithm] = hex?.utf8.count == algorithm.hexLength ? hex : nil
        }
        return [Checksum.Algorithm.sha256, .sha512].compactMap { algorithm in
            found[algorithm].map { Checksum(algorithm: algorithm, hex: $0) }
        }
    }

    private static func algorithm(_ key: ArraySlice<UInt8>) -> Checksum.Algorithm? {
        switch String(decoding: key, as: UTF8.self) {
        case "sha-256": .sha256
        case "sha-512": .sha512
        default: nil
        }
    }

    /// `:` base64 `:`
    private static func byteSequence(_ scanner: inout FieldScanner) -> Data? {
        guard scanner.take(":") else { return nil }
        var text = String(decoding: scanner.take(until: { $0 == UInt8(ascii: ":") }), as: UTF8.self)
        guard scanner.take(":") else { return nil }
        // Parsers are to accept a sequence without its padding (RFC 9651, section 4.2.7).
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text)
    }

    /// Past the next comma that is not within a string.
    private static func skipToNextMember(_ scanner: inout FieldScanner) {
        var inString = false
        while let byte = scanner.next {
            scanner.advance()
            switch byte {
            case UInt8(ascii: "\\") where inString: scanner.advance()
            case UInt8(ascii: "\""): inString.toggle()
            case UInt8(ascii: ",") where !inString: return
            default: break
            }
        }
    }

    private static func hexadecimal(_ data: Data) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: data.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
