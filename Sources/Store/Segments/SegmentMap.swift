/// Which bytes of a download in segments are here.
///
/// It is part of the task's row from before the first byte is written behind a gap: then the file's length says nothing any
/// more. Every synced byte is a written one, and none lies behind the total.
package struct SegmentMap: Hashable, Sendable {
    package let total: Int64
    /// Bytes that the kernel has taken: they survive the service, not the machine.
    package private(set) var written: ByteRanges
    /// Bytes that survive a power cut.
    package private(set) var synced: ByteRanges

    /// A plain download that becomes one in segments: its first `count` bytes are here, the first `synced` of them for good.
    package init(total: Int64, count: Int64, synced: Int64) {
        self.total = max(0, total)
        let count = max(0, min(count, self.total))
        written = ByteRanges(0..<count)
        self.synced = ByteRanges(0..<max(0, min(synced, count)))
    }
}

extension SegmentMap {
    /// How many bytes are here.
    package var count: Int64 { written.count }

    /// How many bytes from the start on are here without a gap.
    package var prefix: Int64 { written.prefix }

    package var missing: ByteRanges { written.missing(in: 0..<total) }

    package var isComplete: Bool { prefix >= total }

    /// Whether a plain download's row could tell the same: nothing lies behind a gap.
    package var isContiguous: Bool { written.ranges.count <= 1 && written.end == prefix }

    /// The kernel has taken these bytes. Those beyond the total are nobody's.
    package mutating func write(_ range: Range<Int64>) {
        written.insert(range.clamped(to: 0..<total))
    }

    /// Bytes were synced: those that were written when the sync began.
    package mutating func sync(_ ranges: ByteRanges) {
        synced.formUnion(ranges.intersection(written))
    }

    /// The bytes that can be trusted after the service has ended, by whatever cause.
    ///
    /// - Parameters:
    ///   - sameBoot: whether the kernel that took the bytes still runs, and has reported no error since.
    ///   - fileLength: what a file that was cut cannot have is not claimed.
    package func surviving(sameBoot: Bool, fileLength: Int64) -> SegmentMap {
        var map = self
        let file = 0..<max(0, min(fileLength, total))
        map.synced = synced.clamped(to: file)
        map.written = sameBoot ? written.clamped(to: file) : map.synced
        return map
    }

    /// The bytes of a plain download that takes over. The file has to be cut to this length before its row says so.
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
