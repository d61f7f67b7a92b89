import NightshiftAPI
import TestSupport
import Testing
import Transfers

@Suite(.timeLimit(.minutes(20))) struct ProxyTests {
    @Test func `A proxy receives the absolute URL of a plain HTTP request`() async throws {
        // An origin server does not know an absolute target as a path. Only the fact that it was asked matters.
        let proxy = try OriginServer()
        let end = try await TestTransport().end(
            .direct("http://origin.invalid/file?q").with { $0.proxy = proxy.url("") })
        #expect(end.head != nil)
        #expect(proxy.requests.map(\.target) == ["http://origin.invalid/file?q"])
    }

    @Test func `The proxy of a tunnel does not receive secrets of the request`() async throws {
        let proxy = try OriginServer()
        let request = WireRequest.direct(
            "https://origin.invalid/", headers: [HeaderField(name: "Authorization", value: "Bearer x")]
        ).with {
            $0.proxy = proxy.url("")
            $0.credential = Credential(user: "u", password: "p", scheme: .basic)
        }
        let end = try await TestTransport().end(request)
        #expect(end.failure?.code == .proxyFailure, "\(end)")
        let connect = try #require(proxy.requests.first)
        #expect(connect.method == "CONNECT")
        #expect(connect.field("Authorization") == nil)
        #expect(connect.field("Proxy-Authorization") == nil)
    }

    @Test func `An unreachable proxy counts as failed, and the error omits the proxy's password`() async throws {
        let port = try freePort()
        let end = try await TestTransport().end(
            .direct("http://origin.invalid/").with { $0.proxy = "http://user:secret@127.0.0.1:\(port)" })
        #expect(end.failure?.code == .proxyFailure)
        // The message contains neither the secret nor a duration. The next attempt therefore has the same message.
        #expect(
            end.failure?.message
                == "Could not connect to the proxy for origin.invalid. "
                + "Failed to connect to 127.0.0.1 port \(port): Couldn't connect to server.")
        let unknown = try await TestTransport().end(
            .direct("http://origin.invalid/").with { $0.proxy = "http://user:secret@proxy.invalid:8080" })
        #expect(unknown.failure?.code == .proxyFailure)
        #expect(unknown.failure?.message.contains("secret") == false)
    }

    @Test func `T8: A redirect uses the proxy that the service's variables name for the new host`() async throws {
        let (proxy, origin) = (try OriginServer(), try OriginServer())
        origin.serve("/a", .text("", .redirect(to: "http://elsewhere.invalid/b")))
        let end = try await TestTransport().end(
            .direct(origin.url("/a")).with {
                $0.proxy = nil
                $0.proxyVariables = ProxyVariables(["http_proxy": proxy.url(""), "no_proxy": "127.0.0.1"])
            })
        #expect(end.head != nil, "\(end)")
        #expect(origin.requests.map(\.target) == ["/a"])
        #expect(proxy.requests.map(\.target) == ["http://elsewhere.invalid/b"])
    }

    @Test func `T8: The error about a proxy names the variable that sets it`() async throws {
        let address = "http://127.0.0.1:\(try freePort())"
        let own = try await TestTransport().end(
            .direct("http://origin.invalid/").with {
                $0.proxy = nil
                $0.proxyVariables = ProxyVariables(["http_proxy": address])
            })
        #expect(own.failure?.code == .proxyFailure)
        #expect(own.failure?.message.hasSuffix("The variable http_proxy names this proxy.") == true, "\(own)")
        let callers = try await TestTransport().end(
            .direct("http://origin.invalid/").with {
                $0.proxy = address
                $0.proxyVariable = "all_proxy"
            })
        #expect(callers.failure?.message.hasSuffix("The variable all_proxy names this proxy.") == true, "\(callers)")
    }
}
