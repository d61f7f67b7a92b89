import NightshiftAPI
import TestSupport
import Testing

@testable import HTTPTransport

/// Tests of challenges, in which commas separate both challenges and the parameters of one challenge (RFC 9110, section
/// 11.6.1).
@Suite(.timeLimit(.minutes(20))) struct AuthenticationOfferTests {
    private static func offer(_ scheme: String, _ parameters: [String: String] = [:]) -> AuthenticationOffer {
        AuthenticationOffer(scheme: scheme, parameters: parameters)
    }

    private static let grammatical: [(String, [AuthenticationOffer])] = [
        ("Basic realm=\"a b\"", [offer("basic", ["realm": "a b"])]),
        ("BASIC Realm=token", [offer("basic", ["realm": "token"])]),
        ("Basic realm = \"x\" , charset=\"UTF-8\"", [offer("basic", ["realm": "x", "charset": "UTF-8"])]),
        ("Basic", [offer("basic")]),
        ("Negotiate, Basic realm=\"r\"", [offer("negotiate"), offer("basic", ["realm": "r"])]),
        (
            "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
            [
                offer("newauth", ["realm": "apps", "type": "1", "title": "Login to \"apps\""]),
                offer("basic", ["realm": "simple"]),
            ]
        ),
        (
            "Negotiate YII+/a==, Digest realm=\"Basic realm=no, Digest\", nonce=\"n,=\"",
            [
                AuthenticationOffer(scheme: "negotiate", token: "YII+/a=="),
                offer("digest", ["realm": "Basic realm=no, Digest", "nonce": "n,="]),
            ]
        ),
        (",, ,Basic realm=\"\",,", [offer("basic", ["realm": ""])]),
        ("Basic realm=\"first\", realm=\"second\"", [offer("basic", ["realm": "first"])]),
        ("Basic realm=\"Gr\u{fc}\u{df}e\"", [offer("basic", ["realm": "Gr\u{fc}\u{df}e"])]),
        ("Digest\trealm=\"tab\"", [offer("digest", ["realm": "tab"])]),
        ("", []),
    ]

    /// If the parser read the value again from each of its quotes, this would take days.
    @Test func `The parser reads an unclosed quoted string only once`() {
        let value = "Basic x=" + String(repeating: "\"\\", count: 2_000_000)
        #expect(AuthenticationOffer.parse(value) == [])
        #expect(AuthenticationOffer.parse("Basic realm=\"r\", " + value) == [Self.offer("basic", ["realm": "r"])])
    }

    @Test(arguments: grammatical)
    func `The parser returns challenges exactly as the server wrote them`(value: String, offers: [AuthenticationOffer])
    {
        #expect(AuthenticationOffer.parse(value) == offers)
    }

    private static let malformed: [(String, [AuthenticationOffer])] = [
        ("Basic realm=\"no end", []),
        ("Basic realm=", [AuthenticationOffer(scheme: "basic", token: "realm=")]),
        ("Basic realm=\"a\" nonsense", []),
        ("Digest nonce=\"a\" qop=\"b\", realm=\"lost\", Basic realm=\"kept\"", [offer("basic", ["realm": "kept"])]),
        ("=\"x\", realm=\"nobody's\"", []),
        ("\"Basic realm=x\", Basic realm=\"y\"", [offer("basic", ["realm": "y"])]),
        ("Ba(sic realm=\"x\", y", [offer("y")]),
        ("\\\"", []),
    ]

    @Test(arguments: malformed)
    func `The parser skips text that violates the grammar without losing other challenges`(
        value: String, offers: [AuthenticationOffer]
    ) {
        #expect(AuthenticationOffer.parse(value) == offers)
    }

    @Test func `Several fields of one name form one list, without fields of other names`() {
        let headers = [
            HeaderField(name: "www-authenticate", value: "Basic realm=\"1\""),
            HeaderField(name: "Proxy-Authenticate", value: "Basic realm=\"no\""),
            HeaderField(name: "WWW-Authenticate", value: "realm=\"not of the first\", Digest realm=\"2\""),
        ]
        #expect(
            AuthenticationOffer.all(in: headers, field: "WWW-Authenticate") == [
                Self.offer("basic", ["realm": "1"]), Self.offer("digest", ["realm": "2"]),
            ])
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `Random lists of challenges are parsed back unchanged`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let offers = (0..<Int.random(in: 0...5, using: &random)).map { _ in Self.randomOffer(&random) }
        #expect(AuthenticationOffer.parse(Self.written(offers, &random)) == offers)
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `The parser terminates on garbage, and its result is never longer than its input`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let pieces = [
            "Basic", "Digest", "realm", "=", "\"", "\\", ",", " ", "\t", "a", "==", "\u{e9}", "/", "\u{1}", ";",
        ]
        for _ in 0..<200 {
            let count = Int.random(in: 0...30, using: &random)
            let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            let offers = AuthenticationOffer.parse(text)
            let read = offers.map { offer in
                offer.scheme.utf8.count + (offer.token?.utf8.count ?? 0)
                    + offer.parameters.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
            }
            #expect(read.reduce(0, +) <= text.utf8.count, "\(text.debugDescription)")
            #expect(offers.allSatisfy { !$0.scheme.isEmpty && $0.scheme == $0.scheme.lowercased() })
        }
    }

    /// Backtracking must not make a long field expensive.
    @Test func `The parser takes time in proportion to the length of a field`() {
        for unit in ["Basic a\"", "a=\"\\", "Basic \"", "x ", "=,", "a=b "] {
            let text = String(repeating: unit, count: 65_536 / unit.utf8.count)
            let quarter = String(text.prefix(text.count / 4))
            let time = processorTime { _ = AuthenticationOffer.parse(text) }
            let less = processorTime { _ = AuthenticationOffer.parse(quarter) }
            // In linear time this takes four times as long; in quadratic time it would take sixteen times as long.
            #expect(time < less * 10 + .milliseconds(50), "\(unit): \(less), then \(time)")
        }
    }

    // MARK: - At random

    private static func randomOffer(_ random: inout SplitMix64) -> AuthenticationOffer {
        var offer = AuthenticationOffer(scheme: randomText("abcdigest-", 1...8, &random))
        if Int.random(in: 0..<4, using: &random) == 0 {
            offer.token = randomText("aZ09-._~+/", 1...10, &random) + pick(["", "=", "=="], &random)
            return offer
        }
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            offer.parameters[randomText("realmnc!*", 1...6, &random)] = randomText(
                "aB ,=\"\\\t\u{e4}/", 0...12, &random)
        }
        return offer
    }

    private static func randomText(_ letters: String, _ length: ClosedRange<Int>, _ random: inout SplitMix64) -> String
    {
        let letters = letters.map(String.init)
        return (0..<Int.random(in: length, using: &random)).map { _ in pick(letters, &random) }.joined()
    }

    private static func pick(_ texts: [String], _ random: inout SplitMix64) -> String {
        texts[Int.random(in: texts.indices, using: &random)]
    }

    private static func written(_ offers: [AuthenticationOffer], _ random: inout SplitMix64) -> String {
        let comma = { (random: inout SplitMix64) in pick([",", ", ", " ,\t", ",,", " , , "], &random) }
        let blank = { (random: inout SplitMix64) in pick(["", " ", "\t "], &random) }
        var text = ""
        for offer in offers {
            text += offer.scheme
            if let token = offer.token { text += " " + token }
            var isFirst = true
            for (name, value) in offer.parameters {
                text += isFirst ? " " : comma(&random)
                isFirst = false
                let isToken = !value.isEmpty && value.allSatisfy { "aB".contains($0) }
                let quoted = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                text += name + blank(&random) + "=" + blank(&random)
                text += isToken && Bool.random(using: &random) ? value : "\"\(quoted)\""
            }
            text += comma(&random)
        }
        return text
    }
}
