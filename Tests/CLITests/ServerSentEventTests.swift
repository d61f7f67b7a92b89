import Foundation
import NightshiftAPI
import NightshiftClient
import Testing

@testable import CLI

struct ServerSentEventTests {
    private func parse(_ text: String) -> [ServerSentEvent] {
        var parser = ServerSentEventParser()
        return parser.feed(text.utf8)
    }

    @Test(arguments: ["\n", "\r", "\r\n"])
    func `The parser accepts every kind of line end`(_ end: String) {
        let lines = ["event: journal", "id: 7", "data: {", "data:}", "", ":ping", "data", ""]
        #expect(
            parse(lines.map { $0 + end }.joined()) == [
                ServerSentEvent(name: "journal", id: "7", data: "{\n}"),
                ServerSentEvent(name: "message", id: "7", data: ""),
            ])
    }

    @Test func `The parser ignores events without data and invalid ids`() {
        #expect(parse("event: x\n\nid: 3\n\nretry: 10\n\n").isEmpty)
        #expect(parse("data: unfinished\n").isEmpty)
        #expect(parse("\u{feff}data: x\n\n") == [ServerSentEvent(name: "message", id: nil, data: "x")])
        #expect(parse("id: a\0b\ndata: x\n\n").first?.id == nil)
    }

    /// The events are the same for any pieces of the stream.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `The parser's result does not depend on how the stream is split`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet: [[UInt8]] = [
            [0x0A], [0x0D], [0x0D, 0x0A], [0x0A, 0x0A], Array("data: ä日".utf8), Array("data".utf8), Array("id: 4".utf8),
            Array("event: progress".utf8), Array(": comment".utf8), [0xFF], [0xEF, 0xBB, 0xBF], [0], Array("::".utf8),
        ]
        let stream = (0..<random.below(120)).flatMap { _ in alphabet[random.below(alphabet.count)] }
        var whole = ServerSentEventParser()
        let expected = whole.feed(stream)
        var parser = ServerSentEventParser()
        var events: [ServerSentEvent] = []
        var rest = stream[...]
        while !rest.isEmpty {
            let count = 1 + random.below(min(9, rest.count))
            events += parser.feed(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        #expect(events == expected, "seed \(seed)")
    }

    @Test func meaning() throws {
        let entry = Samples.entry(9, .started, task: 12)
        let data = String(decoding: try JSON.encode(entry), as: UTF8.self)
        #expect(try ServerSentEvent(name: "journal", id: "9", data: data).serviceEvent() == .journal(entry))
        #expect(
            try ServerSentEvent(name: "reset", id: nil, data: "{\"lastEntry\":5}").serviceEvent()
                == .reset(lastEntry: 5))
        #expect(try ServerSentEvent(name: "later", id: nil, data: "?").serviceEvent() == nil)
        #expect(throws: (any Error).self) { try ServerSentEvent(name: "journal", id: nil, data: "{").serviceEvent() }
    }
}

/// SplitMix64: a small generator with the same numbers for a seed on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func below(_ bound: Int) -> Int {
        Int.random(in: 0..<max(1, bound), using: &self)
    }
}
