import Foundation
package import NightshiftAPI

/// Digests in the header fields of a response (RFC 9530).
package enum DigestFields {
    /// Returns the digests of the whole file, from a response that carries the file or a part of it.
    ///
    /// `Repr-Digest` covers the whole representation, even if the response carries only a part. `Content-Digest` covers
    /// the content of the message. This content is the whole file only in a 200 response to a request without a range.
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

    /// Returns whether two lists of digests cannot belong to the same bytes.
    package static func contradict(_ left: [Checksum], _ right: [Checksum]) -> Bool {
        left.contains { one in right.contains { $0.algorithm == one.algorithm && $0.hex != one.hex } }
    }

    /// Returns the union of two lists of digests that were announced for the same bytes.
    package static func merged(_ known: [Checksum], _ more: [Checksum]) -> [Checksum] {
        known + more.filter { !known.contains($0) }
    }

    /// Returns the sha-256 and sha-512 digests of a field, from all its lines.
    ///
    /// Other algorithms are insecure or unknown. A member is ignored if it is not a byte sequence or has the wrong
    /// length. The whole field is ignored if it is not a dictionary (RFC 9651, section 4.2): an unreadable digest says
    /// nothing about the file.
    package static func parse(_ lines: [String]) -> [Checksum] {
        guard let members = StructuredField.members(lines) else { return [] }
        return [Checksum.Algorithm.sha256, .sha512].compactMap { algorithm in
            guard let base64 = StructuredField.byteSequence(algorithm.rawValue, in: members) else { return nil }
            // Parsers should accept a byte sequence without padding (RFC 9651, section 4.2.7).
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
