import NightshiftAPI
import Testing
import Transfers

@Suite struct RedirectPolicyTests {
    private func next(
        _ status: Int, _ location: String?, from url: String = "https://example.org/a/b?q", method: String = "GET",
        hop: Int = 0
    ) -> Redirect {
        RedirectPolicy.next(status: status, location: location, from: url, method: method, hop: hop)
    }

    private func target(_ location: String, from url: String = "https://example.org/a/b?q") -> String? {
        if case .follow(let url, _, _) = next(302, location, from: url) { url } else { nil }
    }

    @Test(arguments: [200, 206, 300, 304, 305, 306, 309, 404])
    func `Statuses other than those of a redirect are final`(status: Int) {
        #expect(next(status, "/x") == .none)
    }

    @Test func `A redirect without a Location is final`() {
        #expect(next(302, nil) == .none)
        #expect(next(302, " ") == .none)
    }

    @Test(
        arguments: [
            ("/x", "https://example.org/x"), ("x", "https://example.org/a/x"), ("../x", "https://example.org/x"),
            ("../../../x", "https://example.org/x"), ("./x/./y/../z", "https://example.org/a/x/z"),
            ("?r", "https://example.org/a/b?r"), ("#f", "https://example.org/a/b?q"),
            ("x#f", "https://example.org/a/x"),
            ("//other.example/x", "https://other.example/x"), ("\\\\other.example\\x", "https://other.example/x"),
            ("https://EXAMPLE.org:443", "https://example.org/"), ("/ü ö", "https://example.org/%C3%BC%20%C3%B6"),
            ("/%C3%BC?a=%20", "https://example.org/%C3%BC?a=%20"),
            ("https://u:p@example.org/x", "https://example.org/x"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"), ("a:b/c", nil),
            ("./a:b", "https://example.org/a/a:b"),
            ("..", "https://example.org/"), (".", "https://example.org/a/"), ("/a//b/", "https://example.org/a//b/"),
        ] as [(String, String?)])
    func `The Location is resolved against the URL of the request`(location: String, url: String?) {
        #expect(target(location) == url)
    }

    @Test func `A redirect changes the method as browsers do`() {
        for (status, method, nextMethod, keepsBody) in [
            (301, "POST", "GET", false), (302, "POST", "GET", false), (303, "POST", "GET", false),
            (303, "PUT", "GET", false), (303, "HEAD", "HEAD", false), (303, "GET", "GET", false),
            (301, "PUT", "PUT", true), (302, "GET", "GET", true), (307, "POST", "POST", true),
            (308, "PUT", "PUT", true), (302, "HEAD", "HEAD", true),
        ] {
            #expect(
                next(status, "/x", method: method)
                    == .follow(url: "https://example.org/x", method: nextMethod, keepsBody: keepsBody))
        }
    }

    @Test(arguments: ["http://example.org/x", "ftp://example.org/x", "file:///etc/passwd", "https://", "javascript:1"])
    func `A redirect to another scheme, or from https to http, is refused`(location: String) {
        guard case .refuse(let failure) = next(302, location) else {
            Issue.record("not refused")
            return
        }
        #expect(failure.code == .redirectRefused)
        #expect(failure.status == 302)
    }

    @Test func `The refusal of a redirect names the target URL without its password`() {
        guard case .refuse(let failure) = next(302, "http://user:hunter2@example.org/x") else {
            Issue.record("not refused")
            return
        }
        #expect(failure.message.contains("http://example.org/x"))
        #expect(!failure.message.contains("hunter2"))
    }

    @Test func `The refusal of a redirect to another scheme says that the server chose the URL`() {
        guard case .refuse(let failure) = next(302, "ftp://user:hunter2@example.org/x") else {
            Issue.record("not refused")
            return
        }
        #expect(failure.message.hasPrefix("The server redirected to ftp://example.org/x. The server chose that URL"))
        #expect(!failure.message.contains("hunter2"))
    }

    @Test func `An endless chain of redirects is refused at the limit`() {
        var url = "https://example.org/0"
        var hop = 0
        while case .follow(let following, _, _) = next(302, "/\(hop + 1)", from: url, hop: hop) {
            url = following
            hop += 1
            guard hop < 1_000 else { break }
        }
        #expect(hop == Limits.redirects)
        guard case .refuse(let failure) = next(302, "/x", hop: hop) else {
            Issue.record("not refused")
            return
        }
        #expect(failure.code == .tooManyRedirects)
    }

    @Test func `A request without a body does not contain fields that describe a body`() {
        let plain = ["Accept", "Range", "X-App"].map { HeaderField(name: $0, value: "v") }
        let body = ["Content-Type", "CONTENT-LENGTH", "Expect", "Upload-Complete"].map {
            HeaderField(name: $0, value: "v")
        }
        #expect(RedirectPolicy.withoutBody(body + plain) == plain)
    }

    @Test func `The refusal of a redirect does not repeat a signature`() {
        guard case .refuse(let failure) = next(302, "http://example.org/x?X-Amz-Signature=secret") else {
            Issue.record("not refused")
            return
        }
        #expect(failure.message.contains("http://example.org/x?…") && !failure.message.contains("secret"))
    }
}
