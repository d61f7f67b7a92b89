import NightshiftAPI
import Sessions
import Testing
import Transfers

/// Tests of the rule for the parts of a request that may be sent to another origin. `HTTPTransportTests` test every
/// code path that uses the rule.
@Suite struct OriginMoveTests {
    private static let home = "https://example.org/a"

    private func request(_ names: [String] = []) -> WireRequest {
        var request = WireRequest(
            url: Self.home, method: "GET", headers: names.map { HeaderField(name: $0, value: "v") }, idleTimeout: 60)
        request.credential = Credential(user: "ada", password: "secret")
        request.tls = TLSSettings(certificateAuthority: "/ca", clientCertificate: "/cert", clientKey: "/key")
        request.trustedCertificates = ["00"]
        request.proxy = "http://proxy.example:3128"
        return request
    }

    @Test(arguments: [
        ("http://example.org/", "http://example.org/x", true), ("http://example.org/", "http://EXAMPLE.ORG:80/x", true),
        ("http://example.org/", "https://example.org/x", false), (home, "http://example.org/a", false),
        ("http://example.org/", "http://example.org:81/x", false),
        ("http://example.org/", "http://www.example.org/x", false),
        ("https://example.org:444/", "https://example.org:444/x", true),
        ("https://u:p@example.org/", "https://example.org/", true), ("http://[::1]/", "http://[0:0::1]/", true),
        ("http://example.org/", "nonsense", false), ("http://example.org/", "http://example.org@evil.example/", false),
    ])
    func `An origin consists of scheme, host and port`(from: String, to: String, isSame: Bool) {
        var request = request(["X-App"])
        request.url = from
        let moved = request.moved(to: to)
        #expect(moved.url == to)
        #expect((moved.credential != nil) == isSame && (moved.headers.first("X-App") != nil) == isSame)
    }

    @Test func `Only header fields that are known to be harmless are sent to another origin`() {
        let unknown = [
            "Authorization", "COOKIE", "Proxy-Authorization", "X-Api-Key", "PRIVATE-TOKEN", "X-Amz-Security-Token",
            "X-Session-Id", "Host", "X-Client-Secret", "X-Whatever", "Referer", "Origin", "From", "Upload-Metadata",
        ]
        let harmless = [
            "Accept", "user-agent", "Range", "If-Range", "Accept-Language", "Content-Type", "Upload-Offset",
            "Tus-Resumable", "Upload-Draft-Interop-Version",
        ]
        let start = request(unknown + harmless)
        let stays = start.moved(to: "https://example.org/other")
        #expect(stays.headers == start.headers && stays.credential == start.credential && stays.tls == start.tls)
        let away = start.moved(to: "https://cdn.example.org/a")
        #expect(away.headers.map(\.name) == harmless)
        #expect(away.credential == nil && away.trustedCertificates.isEmpty)
        #expect(away.tls == TLSSettings(certificateAuthority: "/ca") && away.proxy == start.proxy)
        let home = away.moved(to: Self.home)
        #expect(home.headers.map(\.name) == harmless && home.credential == nil && home.tls?.clientCertificate == nil)
    }

    @Test func `Another origin gets only the credential and certificate chosen for that origin`() {
        var start = request(["Authorization"])
        var answer = OriginAnswer()
        answer.credential = Credential(user: "bob", password: "other")
        answer.clientCertificate = "/bob"
        answer.trustedCertificates = ["11"]
        start.answersElsewhere = ["https://cdn.example.org:443": answer]
        let there = start.moved(to: "https://cdn.example.org/x")
        #expect(there.credential?.user == "bob" && there.trustedCertificates == ["11"])
        #expect(there.tls == TLSSettings(certificateAuthority: "/ca", clientCertificate: "/bob"))
        #expect(there.headers.isEmpty)
        #expect(start.moved(to: "https://third.example/x").credential == nil)
    }
}
