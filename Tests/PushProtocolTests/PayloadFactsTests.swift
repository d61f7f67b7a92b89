import Foundation
import Testing

@testable import PushProtocol

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
        #"{"aps":{"alert":{"title":"\u0020","body":"","loc-key":"K"},"sound":{"name":" "},"badge":"3"}}"#,
        #"{"aps":{"alert":{"body":"x","body":""},"content-available":1}}"#, #"{"aps":{"alert":"x","alert":{}}}"#,
    ]

    /// Payload members that are not a visible alert despite their names. A push with such a member only wakes its app,
    /// and has the limits of a silent push.
    private static let invisible = [
        #""sound":"""#, #""alert":"""#, #""alert":null"#, #""alert":{}"#, #""badge":null"#, #""sound":null"#,
        #""sound":{}"#, #""sound":{"name":""}"#, #""alert":{"title":"","body":""}"#, #""alert":{"action":"x"}"#,
        #""alert":[]"#, #""alert":7"#, #""badge":"3""#, #""alert":" ""#, #""alert":"\u0000\n\u200b""#,
        #""alert":"\ud83c\udde6","alert":"""#, #""alert":{"body":"x","body":"\u2060"}"#,
    ]

    private static let visible = [
        #""alert":"x""#, #""alert":"\u0078""#, #""alert":"\ud83d\ude00""#, #""alert":{"title":"x"}"#,
        #""alert":{"loc-key":"K"}"#, #""alert":{"title":"","subtitle":"x"}"#, #""sound":"default""#,
        #""sound":{"critical":1,"name":"x"}"#, #""badge":0"#, #""badge":3"#, #""alert":{},"sound":"x""#,
    ]

    @Test(arguments: invisible.map { ($0, false) } + visible.map { ($0, true) })
    func `R5: A push is visible only with a text, a named sound or a badge number`(
        members: String, isVisible: Bool
    ) throws {
        let facts = try #require(PayloadFacts(Array(#"{"aps":{"content-available":1,\#(members)}}"#.utf8)))
        #expect(facts.isVisible == isVisible && facts.isContentAvailable)
    }

    /// Returns the facts according to Foundation's parser.
    private func reference(_ payload: [UInt8]) -> Facts? {
        guard let object = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any] else { return nil }
        var facts = Facts(isContentAvailable: false, isVisible: false)
        guard let aps = object["aps"] as? [String: Any] else { return facts }
        facts.isContentAvailable = integer(aps["content-available"]) == 1
        let alert = aps["alert"] as? [String: Any]
        let texts: [Any?] =
            [aps["alert"], aps["sound"], (aps["sound"] as? [String: Any])?["name"]]
            + PayloadFacts.alertTexts.map { alert?["\($0)"] }
        facts.isVisible =
            texts.contains { ($0 as? String)?.hasVisibleCharacters == true } || integer(aps["badge"]) != nil
        return facts
    }

    private func integer(_ value: Any?) -> Int? {
        (value as? NSNumber).flatMap { Int(exactly: $0.doubleValue.rounded(.towardZero)) }
    }

    private struct Facts: Hashable {
        var isContentAvailable: Bool
        var isVisible: Bool
    }

    private func facts(_ payload: [UInt8]) -> Facts? {
        PayloadFacts(payload).map { Facts(isContentAvailable: $0.isContentAvailable, isVisible: $0.isVisible) }
    }

    private func endsWithComma(_ payload: [UInt8]) -> Bool {
        String(decoding: payload, as: UTF8.self).contains(#/,\s*[\}\]]/#)
    }

    @Test(arguments: documents)
    func `R5: The scanner reads the same facts from a payload as Foundation`(document: String) {
        #expect(facts(Array(document.utf8)) == reference(Array(document.utf8)))
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `R5: The scanner reads the same facts from a malformed payload as Foundation`(seed: UInt64) throws {
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
            let facts = facts(payload)
            // Foundation accepts a comma at the end. In all other cases it is as strict as other parsers.
            if facts == nil, endsWithComma(payload) { continue }
            #expect(facts == reference(payload), "seed \(seed): \(String(decoding: payload, as: UTF8.self))")
        }
    }

    @Test(arguments: [511, 512, 100_000])
    func `R5: A payload that is nested too deeply is refused`(count: Int) {
        let open = Array(repeating: UInt8(ascii: "["), count: count)
        let close = Array(repeating: UInt8(ascii: "]"), count: count)
        let payload = Array(#"{"a":"#.utf8) + open + close + [UInt8(ascii: "}")]
        #expect((PayloadFacts(payload) != nil) == (count < 512))
    }
}
