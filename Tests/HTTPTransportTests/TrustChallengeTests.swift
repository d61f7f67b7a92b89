import Foundation
import HTTPTransport
import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Tests of servers whose certificates are not trusted (T9).
@Suite(.timeLimit(.minutes(20))) struct TrustChallengeTests {
    /// A TLS server that answers with the number of the connection, and logs requests.
    private final class SecureServer: Sendable {
        let server: WebServer
        let certificates: TestCertificates
        private let log: TemporaryDirectory

        init(_ flaw: TestCertificates.Flaw? = nil, hasHTTP2: Bool = true, extra: String = "") async throws {
            certificates = try await TestCertificates(server: flaw)
            log = try TemporaryDirectory()
            var options = WebServer.NginxOptions()
            options.certificates = certificates
            options.hasHTTP2 = hasHTTP2
            options.extra = """
                access_log \(log.path("requests"));
                add_header X-Connection $connection always;
                location /file { return 200 hello; }
                \(extra)
                """
            server = try await WebServer.nginx(options)
        }

        var url: String { server.url("/file") }

        var requestCount: Int {
            let bytes = (try? fileBytes(log.path("requests"))) ?? []
            return bytes.count { $0 == UInt8(ascii: "\n") }
        }

        /// Returns the certificate in DER.
        func leaf() throws -> Data {
            let lines = String(decoding: try fileBytes(certificates.serverCertificate), as: UTF8.self)
                .split(separator: "\n").filter { !$0.hasPrefix("-----") }
            return try #require(Data(base64Encoded: lines.joined()))
        }

        func leafDigest() throws -> String {
            SHA256.hash(Array(try leaf())).hex
        }
    }

    private static func asking(_ url: String, trusting digests: Set<String> = []) -> WireRequest {
        .direct(url).with {
            $0.asksAbout = [.serverTrust]
            $0.trustedCertificates = digests
        }
    }

    private static let reasons: [(TestCertificates.Flaw?, String)] = [
        (nil, "unable to get local issuer certificate"), (.selfSigned, "self-signed certificate"),
        (.expired, "certificate has expired"), (.otherName, "hostname mismatch"),
    ]

    @Test(arguments: reasons)
    func `T9: An untrusted server causes a challenge, and its certificate can then be accepted`(
        flaw: TestCertificates.Flaw?, reason: String
    ) async throws {
        let secure = try await SecureServer(flaw)
        let transport = TestTransport()
        var request = Self.asking(secure.url)
        if flaw == .expired || flaw == .otherName {
            request.tls = TLSSettings(certificateAuthority: secure.certificates.authority)
        }
        let end = try await transport.end(request)
        let challenge = try #require(end.challenge)
        #expect(challenge.method == .serverTrust)
        #expect(challenge.host == "localhost")
        #expect(challenge.port == Int(secure.server.port))
        #expect(challenge.scheme == "https")
        #expect(challenge.reason == reason)
        #expect(challenge.certificates == [try secure.leaf().base64EncodedString()])
        #expect(end.head == nil)
        #expect(secure.requestCount == 0)

        let wrong = request.with { $0.trustedCertificates = [SHA256.hash([1]).hex] }
        #expect(try await transport.end(wrong).challenge == challenge)
        let digest = try secure.leafDigest()
        let right = request.with { $0.trustedCertificates = [digest] }
        let answered = try await transport.end(right)
        #expect(answered.outcome == .complete)
        #expect(answered.body == Array("hello".utf8))
        #expect(try await transport.end(right.with { $0.asksAbout = [] }).outcome == .complete)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `T9: An untrusted server causes a challenge with any maximum TLS version`(newest: TLSVersion)
        async throws
    {
        let secure = try await SecureServer()
        let end = try await TestTransport().end(
            Self.asking(secure.url).with { $0.tls = TLSSettings(maximumVersion: newest) })
        #expect(end.challenge?.method == .serverTrust)
    }

    @Test func `T9: The certificate chain is complete and begins with the server's own certificate`() async throws {
        let secure = try await SecureServer()
        // nginx sends the certificates that follow the server's own in its file.
        let path = secure.certificates.serverCertificate
        let chain = try fileBytes(path) + fileBytes(secure.certificates.authority)
        let certificates = try TemporaryDirectory()
        let file = try certificates.write(chain, to: "chain.pem")
        let port = try freePort()
        let server = try ChildProcess(
            "timeout",
            arguments: [
                "60", "openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-cert", path, "-cert_chain", file, "-key",
                secure.certificates.serverKey, "-www", "-quiet",
            ])
        defer { server.stop() }
        let transport = TestTransport()
        try await eventually("openssl s_server") {
            try await transport.end(.direct("https://localhost:\(port)/")).failure?.code != .cannotConnect
        }
        let challenge = try await transport.end(Self.asking("https://localhost:\(port)/")).challenge
        #expect(challenge?.certificates?.first == (try secure.leaf().base64EncodedString()))
        #expect((challenge?.certificates?.count ?? 0) > 1)
    }

    @Test(arguments: [true, false], ["localhost", "127.0.0.1"])
    func `T9: A trusted server causes no challenge`(hasHTTP2: Bool, host: String) async throws {
        let secure = try await SecureServer(hasHTTP2: hasHTTP2)
        for digests in [[], [SHA256.hash([1]).hex]] as [Set<String>] {
            let request = Self.asking("https://\(host):\(secure.server.port)/file", trusting: digests).with {
                $0.tls = TLSSettings(certificateAuthority: secure.certificates.authority)
            }
            let end = try await TestTransport().end(request)
            #expect(end.outcome == .complete)
            #expect(end.head?.httpVersion == (hasHTTP2 ? "2" : "1.1"))
        }
    }

    @Test func `T9: A request trusts a certificate only if the request names it`() async throws {
        let secure = try await SecureServer(.otherName)
        let request = WireRequest.direct(secure.url, certificates: secure.certificates).with {
            $0.trustedCertificates = [SHA256.hash([1]).hex]
        }
        #expect(try await TestTransport().end(request).failure?.code == .untrustedServer)
        #expect(secure.requestCount == 0)
    }

    @Test(arguments: [true, false])
    func `T9: A connection that was accepted for one request serves no other request`(hasHTTP2: Bool) async throws {
        let secure = try await SecureServer(.selfSigned, hasHTTP2: hasHTTP2)
        let digest = try secure.leafDigest()
        let transport = TestTransport()
        let accepted = Self.asking(secure.url, trusting: [digest])
        let first = try await transport.end(accepted)
        #expect(first.outcome == .complete)
        #expect(try await transport.end(Self.asking(secure.url)).challenge?.method == .serverTrust)
        #expect(try await transport.end(.direct(secure.url)).failure?.code == .untrustedServer)
        let other = Self.asking(secure.url, trusting: [SHA256.hash([1]).hex])
        #expect(try await transport.end(other).challenge?.method == .serverTrust)
        #expect(secure.requestCount == 1)
        let second = try await transport.end(accepted)
        #expect(second.head?.connection == first.head?.connection)
        #expect(second.head?.connection != nil)
    }

    @Test func `T9: Other requests do not reuse a TLS session that an app trusted`() async throws {
        let secure = try await SecureServer(.selfSigned, hasHTTP2: false, extra: "keepalive_timeout 0;")
        let transport = TestTransport()
        let accepted = Self.asking(secure.url, trusting: [try secure.leafDigest()])
        for _ in 0..<3 { #expect(try await transport.end(accepted).outcome == .complete) }
        #expect(try await transport.end(Self.asking(secure.url)).challenge?.method == .serverTrust)
        #expect(try await transport.end(.direct(secure.url)).failure?.code == .untrustedServer)
        let other = Self.asking(secure.url, trusting: [SHA256.hash([1]).hex])
        #expect(try await transport.end(other).challenge?.method == .serverTrust)
    }

    @Test func `T9: Servers that are trusted without a challenge share connections`() async throws {
        let secure = try await SecureServer()
        let transport = TestTransport()
        let plain = WireRequest.direct(secure.url, certificates: secure.certificates)
        let first = try await transport.end(plain.with { $0.asksAbout = [.serverTrust, .basic] })
        let second = try await transport.end(plain)
        #expect(first.head?.connection != nil)
        #expect(first.head?.connection == second.head?.connection)
    }

    @Test func `T9: A named certificate is not trusted for another origin`() async throws {
        let far = try await SecureServer(.selfSigned)
        let near = try await SecureServer(.selfSigned, extra: "location /away { return 302 \(far.url); }")
        let request = Self.asking(
            near.server.url("/away"), trusting: [try near.leafDigest(), try far.leafDigest()])
        let end = try await TestTransport().end(request)
        #expect(end.challenge?.port == Int(far.server.port))
        #expect(far.requestCount == 0)
    }

    @Test func `T9: The certificate of a proxy causes no challenge`() async throws {
        let proxy = try await SecureServer(.selfSigned)
        let digest = try proxy.leafDigest()
        for url in ["http://localhost:\(proxy.server.port)/", "https://localhost:\(proxy.server.port)/"] {
            for digests in [[], [digest]] as [Set<String>] {
                let request = Self.asking(url, trusting: digests).with {
                    $0.proxy = "https://localhost:\(proxy.server.port)"
                }
                let end = try await TestTransport().end(request)
                #expect(end.challenge == nil)
                #expect(end.failure?.code == .untrustedServer, "\(end)")
            }
        }
        #expect(proxy.requestCount == 0)
    }

    @Test func `T9: Many simultaneous requests with different trusted certificates all end`() async throws {
        let secure = try await SecureServer(.selfSigned)
        let digest = try secure.leafDigest()
        let transport = TestTransport()
        // The test uses more groups than the number of groups whose connections are kept.
        for round in 0..<40 {
            let request = Self.asking(secure.url, trusting: [digest, SHA256.hash([UInt8(round)]).hex])
            #expect(try await transport.end(request).outcome == .complete)
        }
        transport.transport.forgetConnections()
        #expect(try await transport.end(Self.asking(secure.url)).challenge != nil)
    }
}

extension ResponseHead {
    /// The server's number for the connection.
    var connection: String? { headers.first { $0.name.lowercased() == "x-connection" }?.value }
}
