import Foundation

/// A coding of a response's body that can be decoded (RFC 9110, section 8.4.1). The service never asks for one.
package enum ContentCoding: String, Hashable, Sendable, Codable {
    case gzip
    case deflate

    /// The coding of a body that is to be decoded; nil where it has none, where it cannot be decoded here, and where the coded
    /// bytes are the file.
    ///
    /// A name that ends in `.gz` stands for compressed bytes, whose coding many servers announce although they send the file as it
    /// is. Firefox and Chrome save those as they came, too.
    ///
    /// - Parameters:
    ///   - url: the address that answered.
    ///   - name: the name that the file is to have, where its owner has chosen one.
    package init?(decoding headers: [HeaderField], url: String, name: String? = nil) {
        let codings = Self.names(in: headers)
        guard codings.count == 1, let coding = Self.known[codings[0]] else { return nil }
        guard !Self.isCompressedItself(headers, url: url, name: name) else { return nil }
        self = coding
    }

    /// The codings that a response has, outermost last, in lower case and without `identity`.
    package static func names(in headers: [HeaderField]) -> [String] {
        headers.all("Content-Encoding").flatMap { $0.split(separator: ",") }.map {
            String($0).trimmedOfBlanks.lowercased()
        }.filter { !["", "identity"].contains($0) }
    }

    /// Whether so many decoded bytes may come of so many coded ones. A file that swells by more is made to fill disks.
    package static func allows(_ decoded: Int64, of coded: Int64) -> Bool {
        decoded <= freeSize || decoded / mostSwelling < coded
    }

    private static let known: [String: ContentCoding] = ["gzip": .gzip, "x-gzip": .gzip, "deflate": .deflate]
    private static let compressedTypes = ["gzip", "tgz", "x-compressed-tar"]

    /// Whether the coded bytes are the file, by its type or its name.
    private static func isCompressedItself(_ headers: [HeaderField], url: String, name: String?) -> Bool {
        let type = headers.first("Content-Type")?.lowercased().prefix { $0 != ";" } ?? ""
        let path = (try? TransferURL(parsing: url))?.path.removingPercentEncoding ?? ""
        return compressedTypes.contains { type.contains($0) } || [path, name ?? ""].contains(where: namesCompressed)
    }

    /// Whether a file that is kept as it came holds coded bytes under a name that does not say so.
    package static func isHidden(in headers: [HeaderField], url: String, name: String?) -> Bool {
        !names(in: headers).isEmpty && !isCompressedItself(headers, url: url, name: name)
    }

    private static func namesCompressed(_ name: String) -> Bool {
        let name = name.lowercased()
        return [".gz", ".tgz", ".svgz"].contains { name.hasSuffix($0) }
    }

    /// More than texts and tables shrink by; zlib itself reaches 1,032.
    package static let mostSwelling: Int64 = 100
    /// Decoded bytes that are harmless whatever they come from.
    package static let freeSize: Int64 = 64 << 20
}
