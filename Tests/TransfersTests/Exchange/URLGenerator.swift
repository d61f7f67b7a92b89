/// A generator of URLs: correct ones, and those that people, pages and attackers write.
struct URLGenerator {
    var random: ExchangeRandom

    init(seed: UInt64) {
        random = ExchangeRandom(seed: seed)
    }

    mutating func next() -> String {
        var text =
            pick(Self.schemes) + pick(Self.slashes) + userinfo() + host() + port() + path() + query() + fragment()
        if random.chance(0.15) { mutate(&text) }
        return text
    }

    private mutating func pick(_ choices: [String]) -> String {
        choices[random.number(0..<choices.count)]
    }

    private mutating func userinfo() -> String {
        random.chance(0.8)
            ? "" : pick(["ada@", "ada:secret@", ":p@", "@", "a%40b:c%3Ad@", "a:b:c@", "x@y@", "ü:p@", "a;b@"])
    }

    private mutating func host() -> String {
        if random.chance(0.5) { return pick(Self.hosts) }
        let labels = (0..<random.number(1..<4)).map { _ in pick(Self.labels) }
        return labels.joined(separator: random.chance(0.95) ? "." : pick(["..", "。", "．", ",", " "]))
    }

    private mutating func port() -> String {
        random.chance(0.6)
            ? ""
            : pick([
                ":80", ":443", ":8080", ":", ":0", ":65535", ":65536", ":080", ":x", ":+1", ":99999999999999999999",
                ":8 0",
            ])
    }

    private mutating func path() -> String {
        (0..<random.number(0..<5)).map { _ in pick(["/", "/", "/", "//", "\\"]) + pick(Self.segments) }.joined()
    }

    private mutating func query() -> String {
        random.chance(0.6)
            ? "" : "?" + (0..<random.number(0..<3)).map { _ in pick(Self.segments) }.joined(separator: "&")
    }

    private mutating func fragment() -> String {
        random.chance(0.8) ? "" : "#" + pick(Self.segments)
    }

    /// Inserts invalid bytes at any position.
    private mutating func mutate(_ text: inout String) {
        var bytes = Array(text.utf8)
        for _ in 0..<random.number(1..<4) {
            let index = random.number(0..<bytes.count + 1)
            let mark = Self.marks[random.number(0..<Self.marks.count)]
            switch random.number(0..<3) {
            case 0 where index < bytes.count: bytes.remove(at: index)
            case 1 where index < bytes.count: bytes[index] = mark
            default: bytes.insert(mark, at: index)
            }
        }
        text = String(decoding: bytes, as: UTF8.self)
    }

    private static let schemes = [
        "http:", "https:", "http:", "https:", "http:", "https:", "HTTP:", "hTTpS:", "ftp:", "", "x-y:",
    ]
    private static let slashes = ["//", "//", "//", "//", "//", "//", "//", "//", "/", "", "///", "\\\\"]
    private static let hosts = [
        "example.org", "EXAMPLE.org", "localhost", "127.0.0.1", "[::1]", "[2001:DB8:0:0::1]", "[::ffff:1.2.3.4]",
        "[::fff:1.2.3.4]",
        "[fe80::1%25eth0]", "[::g]", "[]", "1.2.3", "0x7f.1", "0177.0.0.1", "2130706433", "256.1.1.1", "1.2.3.4.5",
        "1.2.3.08",
        "0x.0x", "127.0.0.1.", "bücher.example", "BÜCHER.example", "bu\u{308}cher.example", "straße.example", "例え.テスト",
        "ＧＯ.example",
        "xn--bcher-kva.example", "xn--zz--.example", "a_b.example", "-a.example", "a-.example", "a%62c.example",
        "a%00b", "a%2Fb", "%C3%BC.example",
        "", ".", "a..b", ".a", "a.", "a!b", "a$b", "a&b", "a'b", "a(b)", "a*b", "a+b", "a,b", "a;b", "a=b", "a~b",
        "☃.example", "ﬁ.example",
        "\u{200D}a.example", "a\u{AD}b.example", "ı.example", "K.example", "א.example", "1א.example", "😀.example",
    ]
    private static let labels = [
        "a", "www", "example", "org", "EXAMPLE", "x1", "1x", "0", "255", "0xff", "a-b", "ü", "ß", "日本", "xn--p1ai",
        "123456789", "aa--b",
    ]
    private static let segments = [
        "a", "b.html", ".", "..", "%2e", "%2E%2e", "", "a b", "ä", "%C3%A4", "%", "%zz", "a%2Fb", "a;b=c", "a=b", "a|b",
        "a\"b", "<x>", "`{}^[]'",
        "~", "!$&'()*+,;=:@", "...", ".a", "a.", "%00", "日", "a%20b",
    ]
    private static let marks = Array("\"\\/:;=,*-%?#@[] \t\n'.0129abAZ\u{0}\u{7F}|<>^`{}".utf8) + [0xC3, 0xBC, 0xFF]
}
