import Foundation
import Testing

@testable import PushRouting

@Suite struct PayloadFactsTests {
    private static let documents = [
        #"{"aps":{"alert":"x"}}"#, #"{}"#, #"[]"#, #"1"#, #""x""#, #"{"aps":3}"#, #"{"aps":null}"#,
        #"{"aps":{"content-available":1,"badge":3},"a":[1,2.5e3,-0,{"b":null}],"c":true}"#,
        #"{"\u0061ps":{"content\u002davailable":1.0}}"#, #"{"aps":{"content-available":1.9}}"#,
        #"{"aps":{"alert":{"title":"h\u00e9 \ud83d\ude00","body":"é😀"},"sound":"d\"q\\"},"aps":{"content-available":true}}"#,
        #" { "aps" : { "content-available" : 1e0 , "x":[[],{}, [ ] ] } , "z" : false } "#,
        #"{"aps":{"content-available":"1"}}"#, #"{"a":1e999}"#, #"{"a":01}"#, #"{"a":1.}"#, #"{"a":-}"#,
        #"{"a":"\ud800"}"#, #"{"a":"\udc00"}"#, "{\"a\":\"\u{1}\"}", "\u{FEFF}{\"aps\":{\"alert\":1}}",
        #"{"aps":{"content-available":-1}}"#, #"{"aps":{"content-available":null}}"#, #"{"aps":{"alert":null}}"#,
    ]

    /// What Foundation's parser says.
    private func reference(_ payload: [UInt8]) -> PayloadFacts? {
        guard let object = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any],
            var facts = PayloadFacts(Array("{}".utf8))
        else { return nil }
        guard let aps = object["aps"] as? [String: Any] else { return facts }
        facts.isContentAvailable = (aps["content-available"] as? NSNumber)?.intValue == 1
        facts.isSeen = ["alert", "sound", "badge"].contains { aps[$0] != nil }
        return facts
    }

    private func endsWithComma(_ payload: [UInt8]) -> Bool {
        String(decoding: payload, as: UTF8.self).contains(#/,\s*\}/#)
    }

    @Test(arguments: documents)
    func `R5: What a payload says is what Foundation reads`(document: String) {
        #expect(PayloadFacts(Array(document.utf8)) == reference(Array(document.utf8)))
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `R5: What a payload with mistakes says is what Foundation reads`(seed: UInt64) throws {
        var random = Seeded(seed)
        let letters = Array(#"{}[]",:\u0019eE.+-truefalsn /d8cD"#.utf8) + [0x00, 0x1F, 0x80, 0xC3, 0xFF, 0xED, 0xA0]
        for _ in 0..<3_000 {
            var payload = Array(try #require(Self.documents.randomElement(using: &random)).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) where !payload.isEmpty {
                let index = payload.indices.randomElement(using: &random) ?? 0
                let letter = letters.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<3, using: &random) {
                case 0: payload[index] = letter
                case 1: payload.remove(at: index)
                default: payload.insert(letter, at: index)
                }
            }
            let facts = PayloadFacts(payload)
            // The one thing in which Foundation is more lenient than other parsers.
            if facts == nil, endsWithComma(payload) { continue }
            #expect(facts == reference(payload), "seed \(seed): \(String(decoding: payload, as: UTF8.self))")
        }
    }

    @Test(arguments: [511, 512, 100_000])
    func `R5: A payload that is nested too deeply is none`(count: Int) {
        let open = Array(repeating: UInt8(ascii: "["), count: count)
        let close = Array(repeating: UInt8(ascii: "]"), count: count)
        let payload = Array(#"{"a":"#.utf8) + open + close + [UInt8(ascii: "}")]
        #expect((PayloadFacts(payload) != nil) == (count < 512))
    }
}
