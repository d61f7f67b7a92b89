/// The received bytes of a download in segments.
///
/// The task's row must contain this value before the first byte is written after a gap, because the length of the file
/// is then no longer meaningful. Every synced byte is also written, and all bytes are within the total.
package struct SegmentMap: Hashable, Sendable {
    package let total: Int64
    /// The bytes that were written to the kernel. They survive a crash of the service, but not a crash of the machine.
    package private(set) var written: ByteRanges
    /// The bytes that survive a power cut.
    package private(set) var synced: ByteRanges

    /// Converts a plain download to a download in segments. Its first `count` bytes are received, and the first
    /// `synced` of these survive a power cut.
    package init(total: Int64, count: Int64, synced: Int64) {
        self.total = max(0, total)
        let count = max(0, min(count, self.total))
        written = ByteRanges(0..<count)
        self.synced = ByteRanges(0..<max(0, min(synced, count)))
    }
}

extension SegmentMap {
    /// The number of received bytes.
    package var count: Int64 { written.count }

    /// The number of bytes from the start up to the first gap.
    package var prefix: Int64 { written.prefix }

    package var missing: ByteRanges { written.missing(in: 0..<total) }

    package var isComplete: Bool { prefix >= total }

    /// Whether the row of a plain download could store the same state, because there are no gaps.
    package var isContiguous: Bool { written.ranges.count <= 1 && written.end == prefix }

    /// Records written bytes. Bytes beyond the total are ignored.
    package mutating func write(_ range: Range<Int64>) {
        written.insert(range.clamped(to: 0..<total))
    }

    /// Records the bytes that a sync has saved. They must have been written before the sync began.
    package mutating func sync(_ ranges: ByteRanges) {
        synced.formUnion(ranges.intersection(written))
    }

    /// Returns the bytes that can be trusted after the service has ended for any reason.
    ///
    /// - Parameters:
    ///   - sameBoot: Whether the kernel that accepted the bytes still runs and has reported no error since then.
    ///   - fileLength: The current length of the file. Bytes after it are lost.
    package func surviving(sameBoot: Bool, fileLength: Int64) -> SegmentMap {
        var map = self
        let file = 0..<max(0, min(fileLength, total))
        map.synced = synced.clamped(to: file)
        map.written = sameBoot ? written.clamped(to: file) : map.synced
        return map
    }

    /// Returns the bytes from the start to the first gap, which a plain download can use. The file must be truncated to
    /// this length before its row is written.
    package func cutToPrefix() -> SegmentMap {
        SegmentMap(total: total, count: prefix, synced: synced.prefix)
    }
}

extension SegmentMap: Codable {
    private enum CodingKeys: CodingKey {
        case total, written, synced
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        total = try container.decode(Int64.self, forKey: .total)
        written = try container.decode(ByteRanges.self, forKey: .written)
        synced = try container.decode(ByteRanges.self, forKey: .synced)
        guard total >= 0, written.end <= total, written.isSuperset(of: synced) else {
            throw DecodingError.dataCorruptedError(
                forKey: .written, in: container, debugDescription: "The ranges contradict each other or the total.")
        }
    }
}
