import NightshiftAPI
import TestSupport
import Testing
import Transfers

@Suite(.timeLimit(.minutes(20))) struct RedirectTests {
    private let secrets = [
        HeaderField(name: "Authorization", value: "Bearer abc"), HeaderField(name: "Cookie", value: "a=b"),
        HeaderField(name: "X-Api-Key", value: "k"), HeaderField(name: "X-Unknown", value: "x"),
        HeaderField(name: "Accept-Language", value: "de"),
    ]

    @Test func `The transport follows redirects and discards their bodies`() async throws {
        let origin = try OriginServer()
        origin.serve("/a", .text("moved", .redirectChain(5)))
        let receiver = Receiver()
        let end = try await TestTransport().end(.direct(origin.url("/a")), receiver)
        #expect(end.outcome == .complete)
        #expect(end.body == Array("moved".utf8))
        #expect(receiver.heads.count == 1)
        #expect(end.head?.url != origin.url("/a"))
        #expect(origin.requests.count == 6)
        #expect(origin.connectionCount == 1)
    }

    @Test func `The transport sends cookies of redirects only to the hosts that the cookies allow`() async throws {
        let origin = try OriginServer()
        func step(_ to: String, _ cookies: String...) -> Resource {
            .text("", .status(302, fields: [HTTPField("Location", to)] + cookies.map { HTTPField("Set-Cookie", $0) }))
        }
        let elsewhere = "http://localhost:\(origin.port)/c"
        origin.serve("/a", step("/b", "sid=new; Path=/; HttpOnly", "far=1; Domain=example.org"))
        origin.serve("/b", step(elsewhere, "two=2"))
        origin.serve("/c", step(origin.url("/d"), "other=3"))
        origin.serve("/d", .text("here", .field("Set-Cookie", "last=4")))
        var request = WireRequest.direct(
            origin.url("/a"), headers: [HeaderField(name: "Cookie", value: "sid=old; mine=0")])
        request.handlesCookies = true
        let end = try await TestTransport().end(request)
        #expect(end.body == Array("here".utf8))
        #expect(origin.requests(for: "/a").first?.field("Cookie") == "sid=old; mine=0")
        #expect(origin.requests(for: "/b").first?.field("Cookie") == "mine=0; sid=new")
        #expect(origin.requests(for: "/c").first?.field("Cookie") == nil)
        // A dropped cookie does not come back, but a cookie that the host itself has set does.
        #expect(origin.requests(for: "/d").first?.field("Cookie") == "sid=new; two=2")
        #expect(
            end.head?.redirectCookies.map(\.value)
                == ["sid=new; Path=/; HttpOnly", "far=1; Domain=example.org", "two=2", "other=3"])
        #expect(end.head?.redirectCookies.map(\.url).last == elsewhere)
        // This request does not handle cookies.
        request.handlesCookies = false
        let plain = try await TestTransport().end(request)
        #expect(plain.head?.redirectCookies == [])
        #expect(origin.requests(for: "/d").last?.field("Cookie") == nil)
        // The transport reports cookies but does not send them.
        request.notesCookies = true
        let told = try await TestTransport().end(request)
        #expect(told.head?.redirectCookies == end.head?.redirectCookies)
        #expect(origin.requests(for: "/b").last?.field("Cookie") == "sid=old; mine=0")
        #expect(origin.requests(for: "/d").last?.field("Cookie") == nil)
    }

    @Test func `A redirect loop ends with an error`() async throws {
        let origin = try OriginServer()
        origin.serve("/a", .text("", .redirectLoop()))
        let end = try await TestTransport().end(.direct(origin.url("/a")))
        #expect(end.failure?.code == .tooManyRedirects)
        #expect(origin.requests.count == Limits.redirects + 1)
    }

    @Test func `A large or truncated redirect body does not stop the redirect`() async throws {
        let origin = try OriginServer()
        let large = String(repeating: "x", count: 4 << 20)
        origin.serve("/large", .text("", .status(302, fields: [HTTPField("Location", "/b")], body: large)))
        origin.serve(
            "/cut", .text("", .status(302, fields: [HTTPField("Location", "/b")], body: large), .cutAfter(1000)))
        origin.serve("/b", .text("here"))
        for path in ["/large", "/cut"] {
            let end = try await TestTransport().end(.direct(origin.url(path)))
            #expect(end.body == Array("here".utf8))
        }
    }

    @Test func `Redirects send secrets only within one origin, and not back from another origin`() async throws {
        let first = try OriginServer()
        let second = try OriginServer()
        first.serve("/a", .text("", .redirect(to: "/same")))
        first.serve("/same", .text("", .redirect(to: second.url("/b"))))
        second.serve("/b", .text("", .redirect(to: first.url("/home"))))
        first.serve("/home", .text("home"))
        let request = WireRequest.direct(first.url("/a"), headers: secrets).with {
            $0.credential = Credential(user: "u", password: "p", scheme: .basic)
        }
        let end = try await TestTransport().end(request)
        #expect(end.body == Array("home".utf8))
        for path in ["/a", "/same"] {
            let request = try #require(first.requests(for: path).first)
            #expect(request.field("Cookie") == "a=b")
            #expect(request.field("Authorization") != nil)
        }
        for request in second.requests(for: "/b") + first.requests(for: "/home") {
            #expect(request.field("Authorization") == nil)
            #expect(request.field("Cookie") == nil)
            #expect(request.field("X-Api-Key") == nil)
            #expect(request.field("X-Unknown") == nil)
            #expect(request.field("Accept-Language") == "de")
        }
        #expect(first.requests(for: "/home").count == 1)
    }

    @Test func `The transport does not send a credential to another origin after a redirect`() async throws {
        let first = try OriginServer()
        let second = try OriginServer()
        first.serve("/a", .text("", .redirect(to: second.url("/b"))))
        second.serve("/b", .text("secret", .requireBasic(user: "u", password: "p")))
        let request = WireRequest.direct(first.url("/a")).with {
            $0.credential = Credential(user: "u", password: "p", scheme: .any)
        }
        let receiver = Receiver()
        let end = try await TestTransport().end(request, receiver)
        #expect(end.head?.status == 401)
        #expect(receiver.heads.map(\.status) == [401])
        #expect(second.requests.allSatisfy { $0.field("Authorization") == nil })
    }

    @Test func `The transport refuses a redirect from HTTPS to HTTP`() async throws {
        var options = WebServer.NginxOptions()
        options.certificates = try await TestCertificates()
        options.extra = "location /a { return 302 http://127.0.0.1:9/; }"
        let server = try await WebServer.nginx(options)
        let end = try await TestTransport().end(.direct(server.url("/a"), certificates: options.certificates))
        #expect(end.failure?.code == .redirectRefused)
        #expect(end.head?.status == 302)
    }

    @Test(arguments: [(307, "PUT", 1_500_000), (308, "PUT", 1_500_000), (303, "GET", 0)])
    func `The transport sends an upload again after a 307 or 308 redirect, but not after a 303`(
        status: Int, method: String, size: Int64
    ) async throws {
        let origin = try OriginServer()
        let content = SeededContent(seed: 3, size: 1_500_000)
        origin.serve("/a", .text("", .redirect(to: "/b", status: status)))
        origin.serve("/b", .text("done"))
        let file = try TestFile(content)
        let request = WireRequest.direct(
            origin.url("/a"), method: "PUT", headers: [HeaderField(name: "Content-Type", value: "a/b")]
        ).sending(file, size: content.size)
        let end = try await TestTransport().end(request)
        #expect(end.outcome == .complete)
        let last = try #require(origin.requests(for: "/b").last)
        #expect(last.method == method)
        #expect(last.body.length == size)
        #expect(last.field("Content-Type") == (size > 0 ? "a/b" : nil))
        #expect(request.body?.meter.value == size)
        #expect(end.head?.method == method)
    }
}
