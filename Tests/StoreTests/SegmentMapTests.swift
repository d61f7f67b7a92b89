import Foundation
import Store
import Testing

@Suite struct SegmentMapTests {
    static var fragmented: SegmentMap {
        var map = SegmentMap(total: 100, count: 20, synced: 10)
        map.write(50..<70)
        map.write(80..<100)
        map.sync(map.written)
        map.write(20..<25)
        map.write(70..<75)
        return map
    }

    @Test func `A plain download can become a split download, and then a plain download again`() {
        var map = SegmentMap(total: 100, count: 20, synced: 10)
        #expect(map.isContiguous && map.prefix == 20 && map.synced.prefix == 10)
        #expect(map.missing.ranges == [20..<100])
        map.write(90..<120)
        #expect(!map.isContiguous && map.count == 30, "nothing beyond the total")
        #expect(map.cutToPrefix() == SegmentMap(total: 100, count: 20, synced: 10))
        map.write(20..<90)
        #expect(map.isContiguous && map.isComplete)
    }

    @Test func `The map of an empty file is complete`() {
        #expect(SegmentMap(total: 0, count: 0, synced: 0).isComplete)
        #expect(!SegmentMap(total: 1, count: 0, synced: 0).isComplete)
    }

    @Test func `A map reduces contradictory counts to the bytes that can exist`() {
        let map = SegmentMap(total: 100, count: 200, synced: 300)
        #expect(map.count == 100 && map.synced.count == 100)
        #expect(SegmentMap(total: 100, count: -1, synced: 5).synced.isEmpty)
    }

    @Test func `Bytes that were written but not synced survive within one boot`() {
        let map = Self.fragmented.surviving(sameBoot: true, fileLength: 100)
        #expect(map == Self.fragmented)
    }

    @Test func `Only synced bytes survive into another boot`() {
        let map = Self.fragmented.surviving(sameBoot: false, fileLength: 100)
        #expect(map.written.ranges == [0..<20, 50..<70, 80..<100])
        #expect(map.synced == map.written)
    }

    @Test func `A shorter file limits the bytes that survive`() {
        let map = Self.fragmented.surviving(sameBoot: true, fileLength: 60)
        #expect(map.written.ranges == [0..<25, 50..<60] && map.synced.ranges == [0..<20, 50..<60])
        #expect(Self.fragmented.surviving(sameBoot: false, fileLength: 0).count == 0)
    }

    @Test func `A sync marks only bytes that are already written`() {
        var map = SegmentMap(total: 100, count: 0, synced: 0)
        map.write(10..<20)
        map.sync(ByteRanges(0..<100))
        #expect(map.synced.ranges == [10..<20])
    }

    /// A test of the stored form, which must never change.
    @Test func `The stored form of a map does not change`() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = #"{"synced":[0,20,50,70,80,100],"total":100,"written":[0,25,50,75,80,100]}"#
        #expect(String(decoding: try encoder.encode(Self.fragmented), as: UTF8.self) == text)
        #expect(try JSONDecoder().decode(SegmentMap.self, from: Data(text.utf8)) == Self.fragmented)
    }

    @Test(arguments: [
        #"{"synced":[],"total":-1,"written":[]}"#, #"{"synced":[],"total":10,"written":[0,11]}"#,
        #"{"synced":[0,6],"total":10,"written":[0,5]}"#, #"{"total":10,"written":[0,5]}"#,
    ])
    func `The store refuses a stored map that contradicts itself`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(SegmentMap.self, from: Data(text.utf8)) }
    }
}
