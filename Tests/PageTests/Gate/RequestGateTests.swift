import HTTPServing
import NightshiftAPI
import NightshiftClient
import Testing

@testable import Page

/// B5: Tests of the gate's decision for each request in a table.
@Suite struct RequestGateTests {
    static let cookie = Secret()
    static let token = Secret()
    static let gate = RequestGate(port: 4_711, cookie: cookie, token: token)
    static let ownHost = "127.0.0.1:4711"
    static let ownOrigin = "http://127.0.0.1:4711"

    /// Returns a request as the page itself sends it.
    static func own(
        _ method: String, _ target: String, _ change: (inout PageRequest) -> Void = { _ in }
    ) -> PageRequest {
        var request = PageRequest(method: method, target: target, hosts: [ownHost], fetchSite: "same-origin")
        request.cookies = ["nightshift-4711=\(cookie.text)"]
        if method != "GET" {
            request.origins = [ownOrigin]
            request.tokens = [token.text]
            request.contentType = "application/json"
            request.hasBody = true
        }
        change(&request)
        return request
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var request: PageRequest
        var refusal: RequestGate.Refusal

        init(_ name: String, _ refusal: RequestGate.Refusal, _ request: PageRequest) {
            (testDescription, self.refusal, self.request) = (name, refusal, request)
        }
    }

    static let refused: [Case] = [
        Case("a rebound name", .host, own("/v1/status") { $0.hosts = ["evil.example:4711"] }),
        Case("localhost", .host, own("/v1/status") { $0.hosts = ["localhost:4711"] }),
        Case("another port", .host, own("/v1/status") { $0.hosts = ["127.0.0.1:80"] }),
        Case("no port", .host, own("/v1/status") { $0.hosts = ["127.0.0.1"] }),
        Case("no host", .host, own("/v1/status") { $0.hosts = [] }),
        Case("two hosts", .host, own("/v1/status") { $0.hosts = [ownHost, "evil.example"] }),
        Case("a foreign origin looks", .origin, own("/v1/status") { $0.origins = ["http://evil.example"] }),
        Case("no origin to speak of", .origin, own("/v1/status") { $0.origins = ["null"] }),
        Case("another port's page", .origin, own("/v1/status") { $0.origins = ["http://127.0.0.1:80"] }),
        Case("https in place of http", .origin, own("/v1/status") { $0.origins = ["https://127.0.0.1:4711"] }),
        Case("two origins", .origin, own("/v1/status") { $0.origins = [ownOrigin, ownOrigin] }),
        Case("a page of the same site", .site, own("/v1/status") { $0.fetchSite = "same-site" }),
        Case("a page of another site", .site, own("/v1/status") { $0.fetchSite = "cross-site" }),
        Case("the API typed by hand", .site, own("/v1/status") { $0.fetchSite = "none" }),
        Case("framed by another page", .site, own("/") { $0.fetchSite = "cross-site" }),
        Case("no cookie", .noCookie, own("/v1/status") { $0.cookies = [] }),
        Case("no cookie, and the page", .noCookie, own("/") { $0.cookies = [] }),
        Case("no cookie, and a file", .noCookie, own("/page/app.js") { $0.cookies = [] }),
        Case("an old cookie", .noCookie, own("/") { $0.cookies = ["nightshift-4711=\(Secret().text)"] }),
        Case("an empty cookie", .noCookie, own("/") { $0.cookies = ["nightshift-4711="] }),
        Case("another page's cookie", .noCookie, own("/") { $0.cookies = ["nightshift-80=\(cookie.text)"] }),
        Case("a second cookie", .noCookie, own("/") { $0.cookies.append("nightshift-4711=x") }),
        Case("a change without an origin", .origin, own("POST", "/v1/retry") { $0.origins = [] }),
        Case("a change without the token", .token, own("POST", "/v1/retry") { $0.tokens = [] }),
        Case("a change with a wrong token", .token, own("POST", "/v1/retry") { $0.tokens = [Secret().text] }),
        Case("the cookie for a token", .token, own("POST", "/v1/retry") { $0.tokens = [cookie.text] }),
        Case("two tokens", .token, own("POST", "/v1/retry") { $0.tokens = [token.text, token.text] }),
        Case("a form", .contentType, own("POST", "/v1/retry") { $0.contentType = "text/plain" }),
        Case("a session's settings", .method, own("PUT", "/v1/sessions/x")),
        Case("a question of another origin", .token, own("OPTIONS", "/v1/tasks") { $0.tokens = [] }),
        Case("stopping the service", .notFound, own("POST", "/v1/shutdown")),
        Case("installing an app", .notFound, own("POST", "/v1/apps")),
        Case("a process's word", .notFound, own("POST", "/v1/process/state")),
        Case("a process's commands", .notFound, own("/v1/process/commands?executable=/bin/sh")),
        Case("a kept file", .notFound, own("/v1/tasks/3/content")),
        Case("a way up", .notFound, own("/v1/tasks/../sessions")),
        Case("a hidden way up", .notFound, own("/v1/apps/%2e%2E/log")),
        Case("an empty name", .notFound, own("/v1/apps//why")),
        Case("a whole address", .notFound, own("http://evil.example/v1/status")),
        Case("nothing", .notFound, own("/nothing")),
        Case("a timeline of no time", .notFound, own("/page/timeline.json?seconds=0")),
        Case("a timeline of ten years", .notFound, own("/page/timeline.json?seconds=315360000")),
        Case("a timeline without a range", .notFound, own("/page/timeline.json")),
        Case("the document by its file's name, with a query", .notFound, own("/?x")),
    ]

    @Test("B5: the gate refuses each request that is not allowed with the right error", arguments: refused)
    func refuses(_ one: Case) {
        #expect(Self.gate.decide(one.request) == .refused(one.refusal))
    }

    @Test("B5: the gate allows the requests of the page itself")
    func allows() throws {
        let gate = Self.gate
        #expect(gate.decide(Self.own("/")) == .page)
        #expect(gate.decide(Self.own("/") { $0.fetchSite = "none" }) == .page)
        #expect(gate.decide(Self.own("/") { $0.fetchSite = nil }) == .page)
        #expect(gate.decide(Self.own("/page/app.js")) == .asset("app.js"))
        #expect(gate.decide(Self.own("/page/setup.json")) == .setup)
        let week = Self.own("/page/timeline.json?seconds=604800&app=")
        #expect(gate.decide(week) == .timeline(TimelineQuery(seconds: 604_800)))
        let program = Self.own("/page/timeline.json?seconds=3600&app=%2Fbin%2Fx")
        #expect(gate.decide(program) == .timeline(TimelineQuery(seconds: 3600, app: AppID(rawValue: "/bin/x"))))
        for (method, path) in [
            ("GET", "/v1/tasks?state=running&limit=1000"), ("GET", "/v1/events?progress=true"),
            ("GET", "/v1/apps/%2Fbin%2Fx/why"),
            ("POST", "/v1/tasks"), ("POST", "/v1/tasks/3/suspend"), ("PATCH", "/v1/device"), ("DELETE", "/v1/tasks/3"),
        ] {
            let forwarded = try #require(ForwardedRequest(method: method, path: path))
            #expect(gate.decide(Self.own(method, path)) == .api(forwarded), "\(method) \(path)")
            #expect(forwarded.path == path)
        }
        let bodiless = Self.own("POST", "/v1/tasks/3/resume") {
            $0.hasBody = false
            $0.contentType = nil
        }
        #expect(ForwardedRequest(method: "POST", path: bodiless.target).map { .api($0) } == gate.decide(bodiless))
    }

    @Test("B5: a link needs no cookie, but does not work from another page")
    func links() {
        let link = PageRequest(method: "GET", target: "/open/abc", hosts: [Self.ownHost], fetchSite: "none")
        #expect(Self.gate.decide(link) == .link("abc"))
        #expect(Self.gate.decide(Self.own("/open/abc")) == .toPage)
        for purpose in ["prefetch", "prefetch;prerender"] {
            var early = link
            early.purpose = purpose
            #expect(
                Self.gate.decide(early) == .refused(.prefetch), "what a browser fetches ahead does not use the link up")
        }
        var foreign = link
        foreign.fetchSite = "cross-site"
        #expect(Self.gate.decide(foreign) == .refused(.site))
        foreign = link
        foreign.hosts = ["evil.example:4711"]
        #expect(Self.gate.decide(foreign) == .refused(.host))
    }

    @Test("B5: the page does not forward the query of a picture's URL")
    func pictures() throws {
        let forwarded = try #require(ForwardedRequest(method: "GET", path: "/v1/apps/a.b/snapshot?taken=2026"))
        #expect(forwarded.path == "/v1/apps/a.b/snapshot")
        #expect(!forwarded.isStream)
        #expect(try #require(ForwardedRequest(method: "GET", path: "/v1/events?lastEventID=3")).isStream)
        for path in ["/v1/tasks/3 HTTP/1.1\r\nX: y", "/v1/tasks\t", "/v1/täsks", "/v2/tasks", "/v1/", "v1/tasks"] {
            #expect(ForwardedRequest(method: "GET", path: path) == nil, "\(path)")
        }
    }
}

extension RequestGateTests {
    /// Returns a GET request as the page itself sends it.
    static func own(_ target: String, _ change: (inout PageRequest) -> Void = { _ in }) -> PageRequest {
        own("GET", target, change)
    }
}
