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

    /// The digests that have to hold where both have been announced of the same bytes.
    package static func merged(_ known: [Checksum], _ more: [Checksum]) -> [Checksum] {
        known + more.filter { !known.contains($0) }
    }

    /// The sha-256 and sha-512 digests of a field, given in all its lines.
    ///
    /// Other algorithms are insecure or unknown. A member that is no byte sequence or of the wrong length is ignored, and so is
    /// the whole field if it is not a dictionary (RFC 9651, section 4.2): a digest that cannot be read says nothing about the
    /// file.
    package static func parse(_ lines: [String]) -> [Checksum] {
        guard let members = StructuredField.members(lines) else { return [] }
        return [Checksum.Algorithm.sha256, .sha512].compactMap { algorithm in
            guard let base64 = StructuredField.byteSequence(algorithm.rawValue, in: members) else { return nil }
            // Parsers are to accept a sequence without its padding (RFC 9651, section 4.2.7).
            let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
            guard let hex = Data(base64Encoded: base64 + padding).map(hexadecimal),
                hex.utf8.count == algorithm.hexLength
            else { return nil }
            return Checksum(algorithm: algorithm, hex: hex)
        }
    }

    private static func hexadecimal(_ data: Data) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: data.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
