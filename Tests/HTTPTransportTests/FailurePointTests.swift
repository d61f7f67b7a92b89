import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Tests of the stage at which a request fails, over real sockets.
@Suite(.timeLimit(.minutes(20))) struct FailurePointTests {
    private func point(_ request: WireRequest) async throws -> FailurePoint? {
        let end = try await TestTransport().end(request)
        #expect(end.failure != nil, "\(end)")
        return end.failurePoint
    }

    @Test func `An unreachable origin counts as a failure of the origin's address`() async throws {
        let port = try freePort()
        let origin = "http://127.0.0.1:\(port)"
        #expect(try await point(.direct(origin + "/a")) == FailurePoint(origin: origin, stage: .address))
        #expect(
            try await point(.direct("http://origin.invalid/a"))
                == FailurePoint(origin: "http://origin.invalid:80", stage: .address))
    }

    @Test func `An origin that does not speak TLS counts as a failure of the origin's address`() async throws {
        let origin = try OriginServer()
        origin.serve("/a", .text("here"))
        let url = origin.url("/a").replacing("http://", with: "https://")
        #expect(try await point(.direct(url, idle: 1))?.stage == .address)
    }

    @Test func `A server that breaks off or stalls counts as a failure of the server`() async throws {
        let origin = try OriginServer()
        origin.serve("/a", .text(String(repeating: "x", count: 4_000), .cutAfter(1_000)))
        origin.serve("/b", .text("", .closeBeforeHead))
        origin.serve("/c", .text("", .stallHead))
        for path in ["/a", "/b", "/c"] {
            let found = try await point(.direct(origin.url(path), idle: path == "/c" ? 0.5 : 20))
            #expect(found == FailurePoint(origin: try TransferURL(parsing: origin.url("/a")).origin, stage: .server))
        }
    }

    @Test func `A redirect to an unreachable address counts as a failure of that address`() async throws {
        let origin = try OriginServer()
        let port = try freePort()
        origin.serve("/a", .text("", .redirect(to: "http://127.0.0.1:\(port)/b")))
        #expect(
            try await point(.direct(origin.url("/a")))
                == FailurePoint(origin: "http://127.0.0.1:\(port)", stage: .address))
    }

    @Test func `An unreachable proxy counts as a failure of the proxy`() async throws {
        let port = try freePort()
        for proxy in ["http://127.0.0.1:\(port)", "http://proxy.invalid:8080", "socks5h://127.0.0.1:\(port)"] {
            for url in ["http://origin.invalid/", "https://origin.invalid/"] {
                let found = try await point(.direct(url).with { $0.proxy = proxy })
                #expect(found?.stage == .proxy, "\(proxy) \(url)")
            }
        }
    }

    @Test func `A tunnel that the proxy does not make counts as a failure of the origin's address`() async throws {
        // This server refuses CONNECT with an error. The proxy itself works.
        let proxy = try OriginServer()
        let found = try await point(.direct("https://origin.invalid/").with { $0.proxy = proxy.url("") })
        #expect(found == FailurePoint(origin: "https://origin.invalid:443", stage: .address))
    }

    @Test func `A proxy that demands a password does not count as failed`() async throws {
        let proxy = try OriginServer()
        let refusal = Behaviour.status(407, fields: [HTTPField("Proxy-Authenticate", "Basic realm=\"proxy\"")])
        proxy.serve("origin.invalid:443", .text("", refusal))
        let found = try await point(.direct("https://origin.invalid/").with { $0.proxy = proxy.url("") })
        // The proxy works whether or not this server supports CONNECT.
        #expect(found?.stage != .proxy)
    }

    @Test func `The transport detects a response with two Content-Length fields`() async throws {
        let origin = try OriginServer()
        // The origin itself adds the correct Content-Length.
        origin.serve("/a", .text("here", .garbageStatusLine("HTTP/1.1 200 OK\r\nContent-Length: 9")))
        let receiver = Receiver()
        let end = try await TestTransport().end(.direct(origin.url("/a")), receiver)
        // Depending on libcurl, the transport delivers both fields or the exchange fails.
        let lengths = receiver.heads.first?.headers.filter { $0.name.lowercased() == "content-length" }.count
        #expect(lengths == 2 || end.failure?.code == .protocolError, "\(end)")
    }
}
