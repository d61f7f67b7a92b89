import NightshiftAPI
import Store
import Testing

@testable import Transfers

@Suite struct RedirectCookiesTests {
    private func field(_ set: [String], from: String, to: String, given: String? = nil, date: String? = nil) -> String?
    {
        var cookies = RedirectCookies()
        let date = date.map { [HeaderField(name: "Date", value: $0)] } ?? []
        cookies.store(set.map { HeaderField(name: "set-cookie", value: $0) } + date, from: from)
        return cookies.field(for: to, given: given)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var set: [String]
        var from = "https://www.example.org/dir/a?q=1"
        var to = "https://www.example.org/dir/b"
        var given: String?
        var expected: String?

        var testDescription: String { "\(set) \(from) -> \(to)" }
    }

    @Test(arguments: [
        Case(set: ["a=1"], expected: "a=1"),
        Case(set: [" a = 1 ; HttpOnly; SameSite=Lax"], expected: "a=1"),
        Case(set: ["a=x=y"], expected: "a=x=y"),
        Case(set: ["novalue", "=1"], expected: nil),
        Case(set: ["a=1", "a=2"], expected: "a=2"),
        Case(set: ["a=1"], given: "a=0; b=2", expected: "b=2; a=1"),
        Case(set: [], given: "a=0; b=2", expected: "a=0; b=2"),
        // The fields contain invalid bytes, and combining characters that join the character before them.
        Case(set: ["a=1\u{1}", "b\u{7f}=2", "c=\t3"], expected: "c=3"),
        Case(set: ["\u{1F600}=", "a=b; \u{1F600}=; o\u{308}\u{301}=x"], expected: "\u{1F600}=; a=b"),
        Case(set: ["a=\u{301}1;\u{301}Path=/"], expected: "a=\u{301}1"),
        // These cases differ in the path.
        Case(set: ["a=1"], to: "https://www.example.org/other", expected: nil),
        Case(set: ["a=1"], to: "https://www.example.org/directory", expected: nil),
        Case(set: ["a=1; Path=/"], to: "https://www.example.org/other", expected: "a=1"),
        Case(set: ["a=1; Path=/dir/b"], expected: "a=1"),
        Case(set: ["b=2; Path=/", "a=1; Path=/dir"], expected: "a=1; b=2"),
        // These cases differ in the host.
        Case(set: ["a=1"], to: "https://www.example.org:8443/dir/b", expected: "a=1"),
        Case(set: ["a=1"], to: "https://img.www.example.org/dir/b", expected: nil),
        Case(set: ["a=1; Domain=www.example.org"], to: "https://img.www.example.org/dir/b", expected: "a=1"),
        Case(set: ["a=1; Domain=.EXAMPLE.org"], expected: "a=1"),
        Case(set: ["a=1; Domain=example.org"], to: "https://img.example.org/dir/b", expected: nil),
        Case(set: ["a=1; Domain=org"], to: "https://evil.org/dir/b", expected: nil),
        Case(set: ["a=1; Domain=other.org"], expected: nil),
        Case(set: ["a=1; Domain=0.0.1"], from: "http://127.0.0.1/dir/a", to: "http://10.0.0.1/dir/b", expected: nil),
        // These cases differ in encryption.
        Case(set: ["a=1; Secure"], expected: "a=1"),
        Case(set: ["a=1; Secure"], to: "http://www.example.org/dir/b", expected: nil),
        Case(set: ["a=1; secure"], from: "http://www.example.org/dir/a", expected: nil),
        Case(set: ["__Host-a=1"], from: "http://www.example.org/dir/a", expected: nil),
        // The server deletes the cookie, so the app's own cookie of that name is not sent either.
        Case(set: ["a=1", "a=; Max-Age=0"], given: "a=0; b=2", expected: "b=2"),
        Case(set: ["a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], given: "a=0", expected: nil),
        Case(set: ["a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], expected: "a=1"),
        Case(set: ["a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT"], expected: "a=1"),
    ])
    func whereCookiesGo(_ example: Case) {
        #expect(field(example.set, from: example.from, to: example.to, given: example.given) == example.expected)
    }

    @Test func `The server's own clock decides whether a cookie has expired`() {
        let set = ["a=1; Expires=Sun, 22 Nov 2026 10:00:00 GMT"]
        let (from, to) = ("https://example.org/a", "https://example.org/b")
        #expect(field(set, from: from, to: to, date: "Sun, 22 Nov 2026 09:00:00 GMT") == "a=1")
        #expect(field(set, from: from, to: to, date: "Sun, 22 Nov 2026 11:00:00 GMT") == nil)
    }

    @Test func `The number and size of stored cookies are limited`() {
        var cookies = RedirectCookies()
        cookies.store(
            (0..<1_000).map { HeaderField(name: "Set-Cookie", value: "c\($0)=1") }
                + [HeaderField(name: "Set-Cookie", value: "large=" + String(repeating: "x", count: 5_000))],
            from: "https://example.org/")
        #expect(cookies.received.count == 64)
        #expect(cookies.field(for: "https://example.org/", given: nil)?.contains("large") == false)
    }

    @Test func `T5: A URL that sets a cookie and redirects to itself gets the cookie back`() {
        let url = "http://example.org/file?token=1"
        #expect(field(["seen=1"], from: url, to: url) == "seen=1")
        #expect(field(["seen=1"], from: url, to: "http://elsewhere.example/file") == nil)
    }

    @Test func `T5: Cookies of redirects are sent unless the app or the owner of the task forbids cookies`() {
        var record = TaskMachineTests.record()
        #expect(record.sendsRedirectCookies)
        record.request.handlesCookies = false
        #expect(!record.sendsRedirectCookies)
        record.app = AppID(rawValue: "org.example.Photos")
        record.request.handlesCookies = nil
        #expect(!record.sendsRedirectCookies)
        record.request.handlesCookies = true
        #expect(record.sendsRedirectCookies)
    }
}
