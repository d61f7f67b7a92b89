import Foundation
import Store
import Testing
import Transfers

@Suite struct ByteRangesTests {
    /// A test that compares ranges with a set of single bytes.
    @Test func `Sets of random ranges equal sets of their single bytes`() throws {
        let seed = ExchangeRandom.printedSeed("byte ranges")
        var random = ExchangeRandom(seed: seed)
        func range() -> Range<Int64> {
            let start = Int64(random.number(0..<60))
            return start..<start + Int64(random.number(0..<12))
        }
        for _ in 0..<300 {
            var ranges = ByteRanges()
            var bytes: Set<Int64> = []
            var other = ByteRanges()
            for _ in 0..<random.number(1..<20) {
                let next = range()
                switch random.number(0..<3) {
                case 0:
                    ranges.remove(next)
                    bytes.subtract(next)
                case 1: other.insert(next)
                default:
                    ranges.insert(next)
                    bytes.formUnion(next)
                }
                Self.check(ranges, bytes)
            }
            let others = Set(other.ranges.flatMap(\.self))
            Self.check(ranges.intersection(other), bytes.intersection(others))
            always(ranges.isSuperset(of: other) == bytes.isSuperset(of: others), "superset")
            let bounds = range()
            Self.check(ranges.clamped(to: bounds), bytes.intersection(bounds))
            Self.check(ranges.missing(in: bounds), Set(bounds).subtracting(bytes))
            var joined = ranges
            joined.formUnion(other)
            Self.check(joined, bytes.union(others))
            joined.subtract(other)
            Self.check(joined, bytes.subtracting(others))
            always(try JSONDecoder().decode(ByteRanges.self, from: JSONEncoder().encode(ranges)) == ranges, "coded")
        }
    }

    private static func check(_ ranges: ByteRanges, _ bytes: Set<Int64>) {
        always(Set(ranges.ranges.flatMap(\.self)) == bytes, "\(ranges) against \(bytes.sorted())")
        always(ranges.count == Int64(bytes.count), "count")
        always(ranges.ranges.allSatisfy { !$0.isEmpty }, "no empty ranges")
        always(zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }, "apart")
        let prefix = Int64((0...).first { !bytes.contains($0) } ?? 0)
        always(ranges.prefix == prefix, "prefix \(ranges.prefix) for \(prefix)")
        always(ranges.end == (bytes.max().map { $0 + 1 } ?? 0), "end")
    }

    @Test(arguments: ["[3,1]", "[1,1]", "[0,4,4,8]", "[0,4,2,8]", "[0]", "[-2,4]", "[\"0\",4]"])
    func `A list that is not a set of ranges is refused`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ByteRanges.self, from: Data(text.utf8)) }
    }
}
