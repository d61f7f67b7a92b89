import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Tests of servers that request a client certificate (T9).
@Suite(.timeLimit(.minutes(20))) struct CertificateChallengeTests {
    private func server(_ verification: String, hasHTTP2: Bool = true) async throws -> WebServer {
        var options = WebServer.NginxOptions()
        let certificates = try await TestCertificates()
        options.certificates = certificates
        options.hasHTTP2 = hasHTTP2
        options.extra = """
            ssl_client_certificate \(certificates.authority);
            ssl_verify_client \(verification);
            add_header X-Connection $connection always;
            location /file { return 200 hello; }
            """
        return try await WebServer.nginx(options)
    }

    private func asking(_ server: WebServer, _ path: String = "/file") -> WireRequest {
        .direct(server.url(path), certificates: server.certificates).with {
            $0.asksAbout = [.clientCertificate, .serverTrust]
        }
    }

    @Test(arguments: ["on", "optional"], [true, false])
    func `T9: A server that requests a certificate causes a challenge`(verification: String, hasHTTP2: Bool)
        async throws
    {
        let server = try await server(verification, hasHTTP2: hasHTTP2)
        let transport = TestTransport()
        let request = asking(server)
        let end = try await transport.end(request)
        #expect(
            end.outcome
                == .challenged(
                    Challenge(
                        method: .clientCertificate, host: "localhost", port: Int(server.port), scheme: "https")))
        #expect(end.head == nil)
        let given = request.with {
            $0.tls?.clientCertificate = server.certificates?.clientCertificate
            $0.tls?.clientKey = server.certificates?.clientKey
        }
        #expect(try await transport.end(given).head?.status == 200)
        // Without a wish for challenges, the exchange has this result.
        let unasked = try await transport.end(request.with { $0.asksAbout = [.serverTrust] })
        #expect(unasked.head?.status == (verification == "on" ? 400 : 200))
    }

    @Test func `T9: A server that requests no certificate causes no challenge`() async throws {
        let server = try await server("off")
        #expect(try await TestTransport().end(asking(server)).head?.status == 200)
    }

    @Test func `T9: The challenge about server trust precedes the one about a client certificate`() async throws {
        let server = try await server("on")
        let request = asking(server).with { $0.tls = nil }
        #expect(try await TestTransport().end(request).challenge?.method == .serverTrust)
    }

    @Test(arguments: [true, false])
    func `T9: A connection that was made without a certificate does not hide the challenge`(hasHTTP2: Bool) async throws
    {
        let server = try await server("optional", hasHTTP2: hasHTTP2)
        let transport = TestTransport()
        let request = asking(server)
        for _ in 0..<2 {
            #expect(try await transport.end(request.with { $0.asksAbout = [] }).head?.status == 200)
            #expect(try await transport.end(request).challenge?.method == .clientCertificate)
        }
    }

    @Test func `T9: Another origin does not get the certificate after a redirect, and causes a challenge`() async throws
    {
        let far = try await server("optional")
        var options = WebServer.NginxOptions()
        options.certificates = far.certificates
        options.extra = "location /away { return 302 \(far.url("/file")); }"
        let near = try await WebServer.nginx(options)
        let request = asking(near, "/away").with {
            $0.tls?.clientCertificate = far.certificates?.clientCertificate
            $0.tls?.clientKey = far.certificates?.clientKey
        }
        let end = try await TestTransport().end(request)
        #expect(end.challenge?.method == .clientCertificate)
        #expect(end.challenge?.port == Int(far.port))
    }

    /// Apache requests a certificate in the middle of a connection if only some of its paths need one. TLS 1.3 uses
    /// post-handshake authentication for this, TLS 1.2 a new handshake.
    @Test(arguments: ["TLSv1.3", "TLSv1.2"])
    func `T9: A server may request a certificate late, even on a reused connection`(version: String) async throws {
        let certificates = try await TestCertificates()
        var options = WebServer.ApacheOptions()
        options.extra = """
            LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
            SSLSessionCache none
            SSLEngine on
            SSLProtocol \(version)
            SSLCertificateFile \(certificates.serverCertificate)
            SSLCertificateKeyFile \(certificates.serverKey)
            SSLCACertificateFile \(certificates.authority)
            <Location /late>
                SSLVerifyClient require
            </Location>
            """
        let server = try await WebServer.apache(options)
        try server.publish("file", .bytes(Array("hello".utf8)))
        try server.publish("late", .bytes(Array("secret".utf8)))
        let transport = TestTransport()
        func request(_ path: String) -> WireRequest {
            .direct("https://localhost:\(server.port)\(path)", certificates: certificates).with {
                $0.asksAbout = [.clientCertificate]
            }
        }
        #expect(try await transport.end(request("/file")).body == Array("hello".utf8))
        // The first request may end with a lost connection, because another request caused the handshake.
        try await eventually("the question") {
            try await transport.end(request("/late")).challenge?.method == .clientCertificate
        }
        let given = request("/late").with {
            $0.tls?.clientCertificate = certificates.clientCertificate
            $0.tls?.clientKey = certificates.clientKey
        }
        #expect(try await transport.end(given).body == Array("secret".utf8))
    }
}
