import Foundation
import NightshiftAPI
import Testing

/// Tests that all accepted values can be written and read again. A single value that cannot would make a whole response
/// unreadable.
@Suite struct WriteAndReadTests {
    private static let numbers: [Double] = [
        0, -0.0, 1, -1, 0.5, 0.000_000_1, .leastNonzeroMagnitude, .leastNormalMagnitude, 1e-300, 1e300,
        .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 0.1 + 0.2, 9_007_199_254_740_992, 9.3e18, -9.3e18, 1e17,
    ]
    private static let texts = [
        "", " ", "\u{0}", "\u{7f}", "\u{FFFD}", "\u{FFFF}", "\u{2028}", "e\u{301}", "👩‍👩‍👧", "\r\n\"\\/", "1e-07", "5e-324",
        "nan",
        "inf", "-inf", "0.0000001", "-1", "1e400", "contiguous:10.000000000000001", "contiguous:0x10",
        "opportunistic:1e3",
        "0001-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "1969-12-31T23:59:59.9999999Z", "0000-01-01T00:00:00+23:59",
        String(repeating: "9", count: 400), String(repeating: "x", count: 70_000),
    ]

    /// Returns all values that differ from `value` in one leaf.
    private static func variants(of value: JSONValue) -> [JSONValue] {
        switch value {
        case .null, .bool: []
        case .number: numbers.map(JSONValue.number)
        case .string: texts.map(JSONValue.string)
        case .array(let elements):
            elements.indices.flatMap { index in
                variants(of: elements[index]).map { variant in
                    var elements = elements
                    elements[index] = variant
                    return JSONValue.array(elements)
                }
            }
        case .object(let members):
            members.flatMap { key, member in
                variants(of: member).map { JSONValue.object(members.merging([key: $0]) { $1 }) }
            }
        }
    }

    /// Returns the value with its sets in a fixed order.
    private static func ordered(_ data: Data) throws -> JSONValue {
        ordered(try JSON.decode(JSONValue.self, from: data))
    }

    private static func ordered(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements):
            let elements = elements.map(ordered)
            let texts = elements.compactMap(\.string)
            return .array(texts.count == elements.count ? texts.sorted().map(JSONValue.string) : elements)
        case .object(let members): return .object(members.mapValues(ordered))
        default: return value
        }
    }

    @Test(arguments: Sample.all)
    func `B1: Every accepted number and string is written in a form that can be read`(_ sample: Sample) throws {
        let value = try JSON.decode(JSONValue.self, from: sample.full)
        for variant in Self.variants(of: value) {
            let given = try JSON.encode(variant)
            guard let written = try? sample.rewrite(given) else {
                // The value is refused because it is invalid, and not because it cannot be written.
                #expect(throws: DecodingError.self) { try sample.decode(given) }
                continue
            }
            let again = try? sample.rewrite(written)
            #expect(
                try again.map(Self.ordered) == Self.ordered(written),
                "\(String(decoding: given.prefix(2_000), as: UTF8.self))")
        }
    }

    @Test(arguments: ["1e999", "-1e999", "NaN", "Infinity", #""\ud800""#, #""\udc00x""#])
    func `B1: The service refuses values that are neither a valid number nor a valid string`(json: String) {
        for key in ["priority", "description"] {
            let task = Data("{\"url\":\"http://a/\",\"\(key)\":\(json)}".utf8)
            #expect(throws: DecodingError.self) { try JSON.decode(TaskRequest.self, from: task) }
        }
    }

    @Test func `R1: The text of every fetch interval is parsed as the same interval`() throws {
        var random = SystemRandomNumberGenerator()
        let patterns = (0..<2_000).map { _ in Double(bitPattern: random.next()) }
        let usual = (0..<2_000).map { _ in Double.random(in: 0...1, using: &random) }
        for seconds in Self.numbers + patterns + usual + [.nan, .infinity, -.infinity] {
            let interval = RefreshInterval.seconds(seconds)
            let read = try #require(RefreshInterval(interval.description), "\(interval.description)")
            #expect(read.sleep == interval.sleep)
            #expect(try JSON.decode([RefreshInterval].self, from: JSON.encode([interval])) == [read])
        }
    }

    @Test(arguments: ["1e-07", "9.5e-05", "5e-324"])
    func `R1: The parser accepts tiny intervals that earlier versions wrote`(text: String) throws {
        #expect(try JSON.decode([RefreshInterval].self, from: Data("[\"\(text)\"]".utf8)) == [.minimum])
    }
}
