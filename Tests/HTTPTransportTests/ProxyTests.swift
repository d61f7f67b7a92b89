import NightshiftAPI
import TestSupport
import Testing
import Transfers

@Suite(.timeLimit(.minutes(20))) struct ProxyTests {
    @Test func aProxyIsAskedForTheWholeAddress() async throws {
        // To an origin server an absolute target is an unknown path; that it was asked is what counts.
        let proxy = try OriginServer()
        let end = try await TestTransport().end(
            .direct("http://origin.invalid/file?q").with { $0.proxy = proxy.url("") })
        #expect(end.head != nil)
        #expect(proxy.requests.map(\.target) == ["http://origin.invalid/file?q"])
    }

    @Test func noSecretOfTheRequestReachesTheProxyOfATunnel() async throws {
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

    @Test func aProxyThatIsNotThereIsTheProxysFault() async throws {
        let port = try freePort()
        let end = try await TestTransport().end(
            .direct("http://origin.invalid/").with { $0.proxy = "http://user:secret@127.0.0.1:\(port)" })
        #expect(end.failure?.code == .proxyFailure)
        // Neither the secret nor how long it took: the next attempt's sentence is the same.
        #expect(
            end.failure?.message
                == "No connection to the proxy on the way to origin.invalid. "
                + "Failed to connect to 127.0.0.1 port \(port): Couldn't connect to server.")
        let unknown = try await TestTransport().end(
            .direct("http://origin.invalid/").with { $0.proxy = "http://user:secret@proxy.invalid:8080" })
        #expect(unknown.failure?.code == .proxyFailure)
        #expect(unknown.failure?.message.contains("secret") == false)
    }
}
