import NightshiftAPI
import Store
import Testing
import Transfers

@Suite struct StructuredFieldTests {
    @Test(arguments: [
        ("?1", true), ("?0", false), (" ?1 ", true), ("?1;a=1;b", true), ("?1; a=\"x\\\"\"", true),
    ])
    func `The parser reads booleans`(text: String, value: Bool) {
        #expect(StructuredField.boolean([text]) == value)
    }

    @Test(arguments: ["", "1", "true", "?2", "?", "?1?", "?1, ?1", "?1;", "?1;A", "?1;a=", "\"?1\"", "?1\t"])
    func `The parser refuses any value that is not a boolean`(text: String) {
        #expect(StructuredField.boolean([text]) == nil)
    }

    @Test(arguments: [("0", 0), ("007", 7), ("999999999999999", 999_999_999_999_999), ("5;a", 5)])
    func `The parser reads counts`(text: String, value: Int64) {
        #expect(StructuredField.count([text]) == value)
    }

    @Test(arguments: [
        "", "-1", "1.0", "1.", "+1", "1000000000000000", "1 2", "1,2", "0x10", "1e3", "--1", "9999999999999.1", "a",
        ":MQ==:", "@1",
    ])
    func `The parser refuses any value that is not a count`(text: String) {
        #expect(StructuredField.count([text]) == nil)
    }

    @Test func `A structured field that contains an item twice counts as missing`() {
        #expect(StructuredField.boolean(["?1", "?1"]) == nil)
        #expect(StructuredField.count(["1", "1"]) == nil)
        #expect(StructuredField.count([]) == nil)
    }

    @Test func `The parser reads dictionaries with values of every type`() {
        let text =
            "a=1, b;x=2 ,\tc=\"s\", d=:AA==:, e=(1 \"x\" tok/en);q=0.5, f=?0, g=@12, h=%\"f%c3%bc\", a=2, i=(), j=1.5"
        #expect(
            StructuredField.dictionary([text]) == [
                "a": .integer(2), "b": .boolean(true), "c": .other, "d": .other, "e": .other, "f": .boolean(false),
                "g": .other, "h": .other, "i": .other, "j": .other,
            ])
        #expect(StructuredField.dictionary(["a=1", "b=2"]) == ["a": .integer(1), "b": .integer(2)])
        #expect(StructuredField.dictionary([""]) == [:])
    }

    @Test(arguments: ["a=1,", ",a=1", "a==1", "A=1", "a=1 b=2", "a=(1", "a=(1,2)", "a=\"", "a=\"\\x\"", "a=:", "1=1"])
    func `One syntax error invalidates a dictionary`(text: String) {
        #expect(StructuredField.dictionary([text]) == nil)
    }

    @Test func `A field with thousands of keys is not parsed`() {
        let keys = (0..<2_000).map { "k\($0)" }.joined(separator: ", ")
        #expect(keys.utf8.count > StructuredField.longest)
        #expect(StructuredField.dictionary([keys]) == nil)
        #expect(StructuredField.dictionary([String(repeating: " ", count: StructuredField.longest - 1) + "a"]) != nil)
    }

    // MARK: - Upload-Limit

    private func limits(_ lines: String...) -> UploadLimits? {
        UploadLimits(headers: lines.map { HeaderField(name: "Upload-Limit", value: $0) })
    }

    @Test func `The parser reads upload limits by their keys`() throws {
        let read = try #require(
            limits("max-size=100, min-size=1", "max-append-size=10, min-append-size=2, max-age=60, unknown=(1 2)"))
        #expect(read.maxSize == 100 && read.minSize == 1 && read.maxAppendSize == 10 && read.minAppendSize == 2)
        #expect(read.maxAge == 60)
        #expect(limits("expires=30")?.maxAge == 30)
        #expect(limits("expires=30, max-age=60")?.maxAge == 60)
        #expect(limits("max-age=60, expires=30")?.maxAge == 60)
        #expect(limits("unknown=1") == UploadLimits())
    }

    @Test(arguments: ["max-size", "max-size=1.5", "max-size=-1", "max-size=\"5\"", "max-append-size=0", "max-size=1,,"])
    func `An invalid upload limit invalidates the whole field`(text: String) {
        #expect(limits(text) == nil)
    }

    @Test func `Arbitrary bytes never trap the parser of structured fields`() {
        var random = ExchangeRandom(seed: 17)
        let samples = [
            "a=1, b;x=2, c=\"s\", d=:AA==:, e=(1 \"x\" t);q=0.5, f=?0, g=@12, h=%\"%c3\"", "?1;a=1",
            "-123456789012.123",
            "max-size=100, max-append-size=10", "999999999999999",
        ].map { Array($0.utf8) }
        let marks = Array("\"\\:;=,*-?@%() \t.019azA_/\u{0}\u{7F}".utf8)
        for _ in 0..<100_000 {
            var bytes = samples[random.number(0..<samples.count)]
            if random.chance(0.2) { bytes = [] }
            for _ in 0..<random.number(1..<8) {
                let index = random.number(0..<bytes.count + 1)
                switch random.number(0..<3) {
                case 0 where index < bytes.count: bytes.remove(at: index)
                case 1: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
                default: bytes.insert(marks[random.number(0..<marks.count)], at: index)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if let count = StructuredField.count([text]) { always((0...999_999_999_999_999).contains(count), text) }
            if StructuredField.boolean([text]) != nil { always(text.utf8.contains(UInt8(ascii: "?")), text) }
            for key in StructuredField.dictionary([text])?.keys ?? [:].keys {
                always(key.utf8.allSatisfy { !(0x41...0x5A).contains($0) && $0 > 0x20 }, text)
            }
            if let limits = limits(text) { always(limits.maxAppendSize ?? 1 > 0 && limits.maxSize ?? 0 >= 0, text) }
        }
    }
}
