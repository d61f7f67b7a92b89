/// The content and metadata that the origin serves at a path.
package struct Resource: Sendable {
    package var content: Content
    /// The entity tag exactly as it is sent, including quotes. Nil sends none.
    package var etag: String?
    /// The modification date in seconds since 1970. Nil sends none.
    package var lastModified: Int?
    package var contentType: String
    package var behaviours: [Behaviour]

    /// The date 5 November 2025, 12:00 UTC, which is old enough for a strong date (RFC 9110, section 8.8.2.2).
    package static let defaultLastModified = 1_762_344_000

    /// Creates a resource with an entity tag derived from its content.
    package init(
        content: Content, lastModified: Int? = defaultLastModified, contentType: String = "application/octet-stream",
        behaviours: [Behaviour] = []
    ) {
        self.init(
            content: content, etag: content.etag, lastModified: lastModified, contentType: contentType,
            behaviours: behaviours)
    }

    package init(
        content: Content, etag: String?, lastModified: Int? = defaultLastModified,
        contentType: String = "application/octet-stream", behaviours: [Behaviour] = []
    ) {
        self.content = content
        self.etag = etag
        self.lastModified = lastModified
        self.contentType = contentType
        self.behaviours = behaviours
    }

    package static func seeded(size: Int64, seed: UInt64, _ behaviours: Behaviour...) -> Resource {
        Resource(content: .seeded(size: size, seed: seed), behaviours: behaviours)
    }

    package static func text(_ text: String, _ behaviours: Behaviour...) -> Resource {
        Resource(content: .bytes(Array(text.utf8)), contentType: "text/plain", behaviours: behaviours)
    }

    /// Returns whether the file at `path` holds exactly this content.
    package func contentMatches(file path: String) throws -> Bool {
        try content.firstMismatch(inFileAt: path) == nil
    }
}

/// The bytes of a resource.
package enum Content: Sendable, Hashable {
    case seeded(size: Int64, seed: UInt64)
    case bytes([UInt8])

    package var size: Int64 {
        switch self {
        case .seeded(let size, _): size
        case .bytes(let bytes): Int64(bytes.count)
        }
    }

    /// A strong entity tag. It is equal for equal contents, and different for different contents.
    package var etag: String {
        switch self {
        case .seeded(let size, let seed): "\"\(seed)-\(size)\""
        case .bytes(let bytes): "\"\(SHA256.hash(bytes).prefix(8).map { $0 }.hex)\""
        }
    }

    /// Returns the bytes of the range. This function is meant for small ranges.
    package func bytes(_ range: Range<Int64>) -> [UInt8] {
        switch self {
        case .seeded(let size, let seed): SeededContent(seed: seed, size: size).bytes(range)
        case .bytes(let bytes): Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
        }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: Int64) {
        switch self {
        case .seeded(let size, let seed):
            SeededContent(seed: seed, size: size).fill(buffer, from: offset)
        case .bytes(let bytes):
            buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + buffer.count])
        }
    }

    /// SHA-256 of the bytes of the range, or of all.
    package func sha256(_ range: Range<Int64>? = nil) -> [UInt8] {
        let range = range ?? 0..<size
        var hasher = SHA256()
        var offset = range.lowerBound
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { buffer in
            while offset < range.upperBound {
                let count = min(buffer.count, Int(clamping: range.upperBound - offset))
                let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                fill(piece, from: offset)
                hasher.update(UnsafeRawBufferPointer(piece))
                offset += Int64(count)
            }
        }
        return hasher.finished()
    }

    /// Returns the offset at which the file first differs, or nil if it holds exactly this content.
    package func firstMismatch(inFileAt path: String) throws -> Int64? {
        switch self {
        case .seeded(let size, let seed):
            return try SeededContent.verify(fileAt: path, seed: seed, size: size)
        case .bytes(let bytes):
            let found = try fileBytes(path)
            if found == bytes { return nil }
            return Int64(zip(found, bytes).prefix { $0.0 == $0.1 }.count)
        }
    }
}
