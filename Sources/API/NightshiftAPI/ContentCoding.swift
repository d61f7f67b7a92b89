import Foundation

/// A content coding that the service can decode (RFC 9110, section 8.4.1). The service never requests a content coding.
package enum ContentCoding: String, Hashable, Sendable, Codable {
    case gzip
    case deflate

    /// Creates the coding of a body that has to be decoded. Returns nil if the body has no coding, if the service
    /// cannot decode the coding, or if the coded bytes are the file itself.
    ///
    /// A name that ends in `.gz` means that the file itself is compressed. Many servers announce a coding for such a
    /// file although they send it unchanged. Firefox and Chrome save such files unchanged as well.
    ///
    /// - Parameters:
    ///   - url: The URL that responded.
    ///   - name: The name for the file, if the client has chosen one.
    package init?(decoding headers: [HeaderField], url: String, name: String? = nil) {
        let codings = Self.names(in: headers)
        guard codings.count == 1, let coding = Self.known[codings[0]] else { return nil }
        guard !Self.isCompressedItself(headers, url: url, name: name) else { return nil }
        self = coding
    }

    /// Returns the codings of a response in lower case, outermost last, without `identity`.
    package static func names(in headers: [HeaderField]) -> [String] {
        headers.all("Content-Encoding").flatMap { $0.split(separator: ",") }.map {
            String($0).trimmedOfBlanks.lowercased()
        }.filter { !["", "identity"].contains($0) }
    }

    /// Returns whether this ratio of decoded to coded bytes is plausible. A file that expands more is assumed to be an
    /// attempt to fill the disk.
    package static func allows(_ decoded: Int64, of coded: Int64) -> Bool {
        decoded <= freeSize || decoded / mostSwelling < coded
    }

    private static let known: [String: ContentCoding] = ["gzip": .gzip, "x-gzip": .gzip, "deflate": .deflate]
    private static let compressedTypes = ["gzip", "tgz", "x-compressed-tar"]

    /// Returns whether the media type or the name shows that the file itself is compressed.
    private static func isCompressedItself(_ headers: [HeaderField], url: String, name: String?) -> Bool {
        let type = headers.first("Content-Type")?.lowercased().prefix { $0 != ";" } ?? ""
        let path = (try? TransferURL(parsing: url))?.path.removingPercentEncoding ?? ""
        return compressedTypes.contains { type.contains($0) } || [path, name ?? ""].contains(where: namesCompressed)
    }

    /// Returns whether a file that is stored unchanged contains coded bytes although its name does not show this.
    package static func isHidden(in headers: [HeaderField], url: String, name: String?) -> Bool {
        !names(in: headers).isEmpty && !isCompressedItself(headers, url: url, name: name)
    }

    private static func namesCompressed(_ name: String) -> Bool {
        let name = name.lowercased()
        return [".gz", ".tgz", ".svgz"].contains { name.hasSuffix($0) }
    }

    /// The largest accepted ratio of decoded to coded bytes. Text and tables have smaller ratios; the largest ratio of
    /// zlib is 1,032.
    package static let mostSwelling: Int64 = 100
    /// The number of decoded bytes that is always accepted, whatever the ratio.
    package static let freeSize: Int64 = 64 << 20
}
