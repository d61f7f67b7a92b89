import NightshiftAPI
import Testing
import Transfers

@Suite struct TransferURLTests {
    @Test(arguments: [
        ("http://example.org", "http://example.org/"),
        ("HTTP://EXAMPLE.org/A", "http://example.org/A"),
        ("http://bücher.example/ä ö?q=ü#f", "http://xn--bcher-kva.example/%C3%A4%20%C3%B6?q=%C3%BC"),
        ("http://例え.テスト/パス", "http://xn--r8jz45g.xn--zckzah/%E3%83%91%E3%82%B9"),
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
        ("http://bu\u{308}cher.example/", "http://xn--bcher-kva.example/"),
        ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
        ("http://ex%41mple.org/", "http://example.org/"),
        ("http://a。example/", "http://a.example/"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        ("  http://example.org/a \n", "http://example.org/a"),
        ("http://exa\nmple.org/a\tb", "http://example.org/ab"),
        ("http:\\\\example.org\\a\\b", "http://example.org/a/b"),
        ("http:example.org", "http://example.org/"),
        ("https:////example.org/x", "https://example.org/x"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("https://example.org:/", "https://example.org/"),
        ("https://example.org:0080/", "https://example.org:80/"),
        ("http://example.org?q", "http://example.org/?q"),
        ("http://example.org/?", "http://example.org/?"),
        ("http://example.org#f", "http://example.org/"),
        ("http://example.org/%20%zz%/100%", "http://example.org/%20%zz%/100%"),
        ("http://example.org/a%2Fb ü", "http://example.org/a%2Fb%20%C3%BC"),
        ("http://example.org/\"<>`{}^|[]'", "http://example.org/%22%3C%3E%60%7B%7D%5E|[]'"),
        ("http://example.org/?\"<>`{}^|[]'\\", "http://example.org/?%22%3C%3E`{}^|[]%27\\"),
        ("http://example.org/a/./b/../c/%2e%2E/d/.", "http://example.org/a/d/"),
        ("http://example.org/..", "http://example.org/"),
        ("http://example.org//a//", "http://example.org//a//"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/"),
        ("http://a_b.example./", "http://a_b.example./"),
        ("http://user@example.org/", "http://example.org/"),
        ("http://u:p@w@example.org/a@b", "http://example.org/a@b"),
        ("http://example.org/?a?b/@c", "http://example.org/?a?b/@c"),
    ])
    func encodesAsBrowsersDo(text: String, expected: String) throws {
        let url = try TransferURL(parsing: text)
        #expect(url.string == expected)
        #expect(try TransferURL(parsing: url.string).string == expected)
    }

    @Test(
        arguments: [
            ("", .badURL, "empty"),
            ("example.org/file", .badURL, "https://example.org/file"),
            ("example.org:8080/file", .badURL, "https://example.org:8080/file"),
            ("localhost:8080", .badURL, "https://localhost:8080"),
            ("//example.org/file", .badURL, "https://example.org/file"),
            ("/etc/passwd", .badURL, "https://"),
            ("ftp://example.org/", .unsupportedURL, "ftp"),
            ("mailto:a@b", .unsupportedURL, "mailto"),
            ("file:///etc/passwd", .unsupportedURL, "file"),
            ("http://", .badURL, "host"), ("http:///", .badURL, "host"), ("https://u:p@/x", .badURL, "host"),
            ("http://:80/", .badURL, "host"), ("http://a b/", .badURL, "host"), ("http://a..b/", .badURL, "host"),
            ("http://a%00b/", .badURL, "host"), ("http://a%2Fb/", .badURL, "host"), ("http://a／b/", .badURL, "host"),
            ("http://ü／b/", .badURL, "host"), ("http://%FF/", .badURL, "host"), ("http://a<b/", .badURL, "host"),
            ("http://ü＠b/", .badURL, "host"), ("http://ü：80/", .badURL, "host"),
            ("http://ü\u{AD}\u{200B}..b/", .badURL, "host"),
            ("http://example.org:65536/", .badURL, "port"), ("http://example.org:0/", .badURL, "port"),
            ("http://example.org:x/", .badURL, "port"), ("http://example.org:-1/", .badURL, "port"),
            ("http://[::1", .badURL, "]"), ("http://[::1]x/", .badURL, "port"), ("http://[::g]/", .badURL, "IPv6"),
            ("http://[::1%25eth0]/", .badURL, "IPv6"), ("http://[]/", .badURL, "IPv6"),
            ("http://::1/", .badURL, "host"),
            ("http://%00@example.org/", .badURL, "zero"),
            ("http://\(String(repeating: "a", count: 64)).example/", .badURL, "host"),
            ("http://example.org/\(String(repeating: "a", count: 16_384))", .badURL, "16384"),
            ("http://example.org/\(String(repeating: "ü", count: 8_000))", .badURL, "16384"),
        ] as [(String, TransferFailure.Code, String)])
    func refuses(text: String, code: TransferFailure.Code, hint: String) {
        let failure = #expect(throws: TransferFailure.self) { try TransferURL(parsing: text) }
        #expect(failure?.code == code)
        #expect(failure?.message.contains(hint) == true, "\(failure?.message ?? "")")
    }

    @Test(arguments: ["user:hunter2@example.org/", "//user:hunter2@example.org/", "https://user:hunter2@exa mple/"])
    func `The message about an invalid URL does not contain the password`(text: String) {
        let failure = #expect(throws: TransferFailure.self) { try TransferURL(parsing: text) }
        #expect(failure?.message.contains("hunter2") == false)
    }

    @Test func `A URL is split into credential, origin, host and port`() throws {
        let url = try TransferURL(parsing: "https://j%C3%BCrgen:p%40%3A%2F:x@EXAMPLE.org/a")
        #expect(url.credential == Credential(user: "jürgen", password: "p@:/:x"))
        #expect(url.origin == "https://example.org:443")
        #expect(url.host == "example.org")
        #expect(url.port == 443)
        #expect(url.isSecure)
        let other = try TransferURL(parsing: "http://[::1]:8080/")
        #expect(other.credential == nil)
        #expect(other.origin == "http://[::1]:8080")
        #expect(other.host == "[::1]")
        #expect(!other.isSecure)
        #expect(try TransferURL(parsing: "http://@example.org/").credential == nil)
        #expect(try TransferURL(parsing: "http://:p@example.org/").credential == Credential(user: "", password: "p"))
    }
}
