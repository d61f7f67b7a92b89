/// A reader that collects the lines of response heads from libcurl and limits their size and number.
struct HeadReader {
    /// The maximum size of one head, and of the trailer fields, in bytes. libcurl's own limit is several hundred KiB.
    static let maximumBytes = 65_536
    /// The maximum number of heads while no byte of the request's body is sent. Interim responses and answered
    /// challenges count too. Without a maximum, a server could send 103 responses for ever. The count restarts when
    /// bytes of the body are sent.
    static let maximumHeads = 1_000

    private var status = 0
    private var version = ""
    private var fields: [CurlField] = []
    private var bytes = 0
    private var heads = 0
    /// Whether the final head is complete. Lines after this head are trailers, which are ignored.
    var isPastHead = false

    enum Result {
        case more
        case head(CurlHead)
        case tooLarge
    }

    /// Resets the count of heads, because bytes of the request's body were sent.
    mutating func moved() {
        heads = 0
    }

    mutating func read(_ line: UnsafeRawBufferPointer) -> Result {
        bytes += line.count
        if !isPastHead, let first = Self.statusLine(line) {
            (version, status) = first
            fields = []
            bytes = line.count
            heads += 1
            return heads > Self.maximumHeads ? .tooLarge : .more
        }
        if bytes > Self.maximumBytes { return .tooLarge }
        if isPastHead { return .more }
        let text = Self.trimmed(line[...])
        if text.isEmpty {
            return status == 0 ? .more : .head(CurlHead(status: status, version: version, fields: fields))
        }
        if let first = line.first, first == 32 || first == 9 {
            // This line continues the value of the previous field (RFC 9112, section 5.2).
            if let last = fields.indices.last { fields[last].value += " " + Self.string(text) }
        } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            let name = Self.string(Self.trimmed(text[..<colon]))
            let value = Self.trimmed(text[text.index(after: colon)...])
            let isURL = name.lowercased() == "location"
            fields.append(CurlField(name: name, value: isURL ? Self.url(value) : Self.string(value)))
        }
        return .more
    }

    private static func statusLine(_ line: UnsafeRawBufferPointer) -> (version: String, status: Int)? {
        guard line.count > 8, line.starts(with: "HTTP/".utf8) else { return nil }
        let parts = trimmed(line[5...]).split(separator: 32, maxSplits: 2)
        guard parts.count >= 2, let status = Int(string(parts[1])), (100...999).contains(status) else { return nil }
        return (string(parts[0]), status)
    }

    private static func trimmed(_ text: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        let isBlank = { (byte: UInt8) in byte == 32 || byte == 9 || byte == 10 || byte == 13 }
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }

    /// Decodes a URL. If the bytes are not UTF-8, those outside of ASCII are percent-encoded, as in browsers.
    private static func url(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return bytes.map { byte in
            byte < 0x80 ? String(Unicode.Scalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    /// Decodes a field value. In practice values are UTF-8. Formerly they were ISO 8859-1 (RFC 9110, section 5.5).
    private static func string(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
