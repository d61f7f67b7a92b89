import HTTPServing
import NightshiftAPI
import Testing

@testable import Page

/// B5: links, cookies and the header fields of every response.
@Suite struct SecretTests {
    @Test("B5: each secret is different, has 256 bits, and matches only itself")
    func secrets() {
        let secrets = (0..<100).map { _ in Secret() }
        #expect(Set(secrets).count == secrets.count)
        for secret in secrets {
            #expect(secret.text.utf8.count == 64)
            #expect(secret.text.allSatisfy { $0.isHexDigit && !$0.isUppercase })
            #expect(secret.matches(secret.text))
            #expect(!secret.matches(secret.text.dropLast()))
            #expect(!secret.matches(secret.text + "0"))
            #expect(!secret.matches(""))
        }
        #expect(!secrets[0].matches(secrets[1].text))
    }

    @Test("B5: each link admits one browser, and a wrong secret does not use up the link")
    func oneTime() {
        var links = OneTimeLinks()
        let first = links.issue()
        let second = links.issue()
        let takes = [Secret().text, "", second.text, second.text, first.text, first.text].map { links.take($0) }
        #expect(takes == [false, false, true, false, true, false])
    }

    @Test("B5: the oldest unused link expires when there are too many links")
    func manyLinks() {
        var links = OneTimeLinks()
        let issued = (0...OneTimeLinks.most).map { _ in links.issue() }
        #expect(issued.map { links.take($0.text) } == [false] + Array(repeating: true, count: OneTimeLinks.most))
    }

    @Test(
        "B5: cookies are found by their whole name",
        arguments: [
            (["a=1"], ["1"]), (["b=2; a=1"], ["1"]), (["b=2;a=1 "], ["1"]), (["a=1; a=2"], ["1", "2"]),
            (["a=1", "a=2"], ["1", "2"]), (["aa=1; xa=2"], []), (["a"], []), (["a="], [""]), (["a=x=y"], ["x=y"]),
            (["A=1"], []), ([], []),
        ] as [([String], [String])])
    func cookies(_ fields: [String], _ values: [String]) {
        #expect(Cookies.values(of: "a", in: fields) == values)
    }

    @Test("B5: scripts cannot read the cookie, and other sites cannot send the cookie")
    func cookieAttributes() {
        let secret = Secret()
        #expect(Cookies.setting("n", to: secret) == "n=\(secret.text); Path=/; HttpOnly; SameSite=Strict")
    }

    @Test("B5: the content security policy forbids inline script, other servers and frames")
    func headers() {
        let fields = Dictionary(uniqueKeysWithValues: HeaderPolicy.fields.map { ($0.name, $0.value) })
        let policy = HeaderPolicy.contentSecurity
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
            #expect(policy.contains(part))
        }
        #expect(!policy.contains("unsafe") && !policy.contains("*") && !policy.contains("data:"))
        #expect(fields["X-Content-Type-Options"] == "nosniff")
        #expect(fields["Cross-Origin-Resource-Policy"] == "same-origin")
        #expect(fields.keys.allSatisfy { !$0.hasPrefix("Access-Control") })
    }

    @Test("B5: a browser never interprets the service's responses as a document")
    func contentTypes() {
        #expect(HeaderPolicy.contentType("text/html") == "application/octet-stream")
        #expect(HeaderPolicy.contentType("image/svg+xml") == "application/octet-stream")
        #expect(HeaderPolicy.contentType(nil) == "application/octet-stream")
        #expect(HeaderPolicy.contentType("image/png") == "image/png")
        #expect(HeaderPolicy.contentType("text/plain; charset=utf-8") == "text/plain; charset=utf-8")
    }
}
