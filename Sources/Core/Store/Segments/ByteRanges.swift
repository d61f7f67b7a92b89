/// A set of bytes of a file. It consists of ascending half-open ranges that neither overlap nor touch.
package struct ByteRanges: Hashable, Sendable {
    package private(set) var ranges: [Range<Int64>] = []

    package init() {}

    package init(_ range: Range<Int64>) {
        insert(range)
    }
}

extension ByteRanges {
    package var isEmpty: Bool { ranges.isEmpty }

    /// The number of bytes.
    package var count: Int64 { ranges.reduce(0) { $0 + Int64($1.count) } }

    /// The number of bytes from the start of the file up to the first gap.
    package var prefix: Int64 {
        guard let first = ranges.first, first.lowerBound <= 0 else { return 0 }
        return first.upperBound
    }

    /// The offset after the last byte; 0 if the set is empty.
    package var end: Int64 { ranges.last?.upperBound ?? 0 }

    package mutating func insert(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        let behind = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.count
        var merged = range
        if first < behind {
            let lower = min(range.lowerBound, ranges[first].lowerBound)
            merged = lower..<max(range.upperBound, ranges[behind - 1].upperBound)
        }
        ranges.replaceSubrange(first..<behind, with: CollectionOfOne(merged))
    }

    package mutating func remove(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        ranges = ranges.flatMap { present -> [Range<Int64>] in
            guard present.overlaps(range) else { return [present] }
            let before = present.lowerBound..<max(present.lowerBound, range.lowerBound)
            let after = min(present.upperBound, range.upperBound)..<present.upperBound
            return [before, after].filter { !$0.isEmpty }
        }
    }

    package mutating func formUnion(_ other: ByteRanges) {
        for range in other.ranges { insert(range) }
    }

    package mutating func subtract(_ other: ByteRanges) {
        for range in other.ranges { remove(range) }
    }

    /// Returns the bytes of this set within `bounds`.
    package func clamped(to bounds: Range<Int64>) -> ByteRanges {
        var result = ByteRanges()
        result.ranges = ranges.map { $0.clamped(to: bounds) }.filter { !$0.isEmpty }
        return result
    }

    /// Returns the bytes of `bounds` that are not in this set.
    package func missing(in bounds: Range<Int64>) -> ByteRanges {
        var result = ByteRanges(bounds)
        result.subtract(self)
        return result
    }

    package func intersection(_ other: ByteRanges) -> ByteRanges {
        var result = self
        result.subtract(other.missing(in: 0..<max(end, other.end)))
        return result
    }

    package func isSuperset(of other: ByteRanges) -> Bool {
        var rest = other
        rest.subtract(self)
        return rest.isEmpty
    }
}

/// The encoding as one list of numbers: the start and the end of each range in turn.
extension ByteRanges: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let bounds = try container.decode([Int64].self)
        guard bounds.count.isMultiple(of: 2), bounds.first ?? 0 >= 0, zip(bounds, bounds.dropFirst()).allSatisfy(<)
        else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "Ranges of bytes must be ascending, and must not touch.")
        }
        ranges = stride(from: 0, to: bounds.count, by: 2).map { bounds[$0]..<bounds[$0 + 1] }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(ranges.flatMap { [$0.lowerBound, $0.upperBound] })
    }
}
