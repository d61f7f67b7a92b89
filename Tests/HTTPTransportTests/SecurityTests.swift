import Foundation
import NightshiftAPI
import TestSupport
import Testing
import Transfers

@Suite(.timeLimit(.minutes(20))) struct SecurityTests {
    private let content = SeededContent(seed: 5, size: 30_000_000)

    private func server(_ change: (inout WebServer.NginxOptions) -> Void = { _ in }) async throws -> WebServer {
        var options = WebServer.NginxOptions()
        options.certificates = try await TestCertificates()
        change(&options)
        let server = try await WebServer.nginx(options)
        try server.publish("file", .seeded(size: content.size, seed: content.seed))
        return server
    }

    @Test(arguments: [(true, "2"), (false, "1.1")])
    func `Concurrent downloads over TLS arrive unchanged`(hasHTTP2: Bool, version: String) async throws {
        let server = try await server { $0.hasHTTP2 = hasHTTP2 }
        let transport = TestTransport()
        let files = try (0..<4).map { _ in try TestFile() }
        let receivers = files.map { file in Receiver { _ in .file(file.sink(length: content.size)) } }
        for receiver in receivers {
            _ = transport.begin(.direct(server.url("/file"), certificates: server.certificates), receiver)
        }
        for (file, receiver) in zip(files, receivers) {
            let end = try await receiver.end()
            #expect(end.outcome == .complete)
            #expect(end.head?.httpVersion == version)
            #expect(try file.matches(content))
        }
    }

    @Test func `An upload over TLS arrives unchanged`() async throws {
        let server = try await server()
        let file = try TestFile(content)
        let request = WireRequest.direct(server.url("/upload/x"), method: "PUT", certificates: server.certificates)
        let end = try await TestTransport().end(request.sending(file, size: content.size))
        #expect(end.head?.status == 201)
        #expect(try content.firstMismatch(inFileAt: "\(server.documents)/upload/x") == nil)
    }

    @Test func `The transport does not trust a certificate from an unknown authority`() async throws {
        let server = try await server()
        let end = try await TestTransport().end(.direct(server.url("/file")))
        #expect(end.failure?.code == .untrustedServer)
        #expect(end.failure?.message.contains("localhost") == true)
        #expect(end.failure?.isPermanent == true)
    }

    @Test func `A connection fails if the certificate does not contain the host name`() async throws {
        let server = try await server()
        let end = try await TestTransport().end(
            .direct("https://127.0.0.2:\(server.port)/file", certificates: server.certificates))
        // nginx listens on 127.0.0.1 only. 127.0.0.2 reaches it only through the proxy.
        #expect(end.failure?.code == .cannotConnect)
        let proxy = try ChaosProxy(to: server.port)
        let other = try await TestTransport().end(
            .direct("https://ip6-localhost:\(proxy.port)/file", certificates: server.certificates))
        #expect([.untrustedServer, .cannotResolveHost, .cannotConnect].contains(other.failure?.code))
    }

    @Test func `The error about a missing authority file names the file`() async throws {
        let server = try await server()
        var request = WireRequest.direct(server.url("/file"))
        request.tls = TLSSettings(certificateAuthority: "/does/not/exist.pem")
        let end = try await TestTransport().end(request)
        #expect(end.failure?.code == .untrustedServer)
        #expect(end.failure?.message.contains("/does/not/exist.pem") == true)
    }

    @Test(arguments: [true, false])
    func `A client certificate is presented when the server requires it`(hasCertificate: Bool) async throws {
        let server = try await server { $0.requiresClientCertificate = true }
        let certificates = try #require(server.certificates)
        var request = WireRequest.direct(server.url("/file"), certificates: certificates)
        if hasCertificate {
            request.tls?.clientCertificate = certificates.clientCertificate
            request.tls?.clientKey = certificates.clientKey
        }
        let file = try TestFile()
        let end = try await TestTransport().end(request, Receiver { _ in .file(file.sink()) })
        #expect(end.outcome == .complete)
        // nginx accepts the handshake and answers 400.
        #expect(end.head?.status == (hasCertificate ? 200 : 400))
    }

    @Test func `The error about an unreadable client certificate names the file`() async throws {
        let server = try await server { $0.requiresClientCertificate = true }
        var request = WireRequest.direct(server.url("/file"), certificates: server.certificates)
        request.tls?.clientCertificate = "/does/not/exist.pem"
        let end = try await TestTransport().end(request)
        #expect(end.failure?.code == .clientCertificate)
        #expect(end.failure?.message.contains("/does/not/exist.pem") == true)
    }

    /// The bounds of a request also apply if connections of other requests are open.
    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `The transport does not use a TLS version outside the bounds of a request`(served: TLSVersion) async throws {
        let server = try await server { $0.extra = "ssl_protocols TLSv\(served.rawValue);" }
        let transport = TestTransport()
        let request = WireRequest.direct(server.url("/file"), method: "HEAD", certificates: server.certificates)
        #expect(try await transport.end(request).outcome == .complete)
        for (oldest, newest) in [(nil, .tls12), (.tls12, .tls12), (.tls13, nil), (.tls13, .tls13), (.tls12, .tls13)]
            as [(TLSVersion?, TLSVersion?)]
        {
            let bounded = request.with {
                $0.tls?.minimumVersion = oldest
                $0.tls?.maximumVersion = newest
            }
            let isSpoken = served == .tls13 ? newest != .tls12 : oldest != .tls13
            let end = try await transport.end(bounded)
            #expect((end.outcome == .complete) == isSpoken, "\(served): \(bounded.tls as Any) \(end)")
            if !isSpoken { #expect(end.failure?.code == .tlsFailure) }
        }
    }

    @Test func `A server that does not speak TLS causes a TLS failure`() async throws {
        let server = try await WebServer.nginx()
        let end = try await TestTransport().end(.direct("https://127.0.0.1:\(server.port)/"))
        #expect(end.failure?.code == .tlsFailure)
        #expect(end.failure?.message.contains("The port may speak plain http") == true, "\(end)")
    }

    @Test(arguments: [true, false])
    func `A TLS body that is cut off counts as truncated or as a lost connection`(hasHTTP2: Bool) async throws {
        let server = try await server { $0.hasHTTP2 = hasHTTP2 }
        let end = try await cut(port: server.port, path: "/file", certificates: try #require(server.certificates))
        #expect([.truncated, .connectionLost].contains(end.failure?.code), "\(end)")
    }

    /// Only the end of the connection delimits this body. Over TLS the server must announce that end (`close_notify`).
    @Test func `A TLS body of unknown length that is cut off is not complete`() async throws {
        let certificates = try await TestCertificates()
        let directory = try TemporaryDirectory()
        try directory.write(
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + String(repeating: "x", count: 20_000_000), to: "response")
        let port = try freePort()
        let server = try ChildProcess(
            "timeout",
            arguments: [
                "1800", "openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-cert", certificates.serverCertificate,
                "-key", certificates.serverKey, "-HTTP", "-quiet",
            ], directory: directory.path)
        defer { server.stop() }
        let transport = TestTransport()
        try await eventually("openssl s_server") {
            try await transport.end(.direct("https://localhost:\(port)/none", certificates: certificates)).failure?.code
                != .cannotConnect
        }
        let whole = try TestFile()
        let end = try await transport.end(
            .direct("https://localhost:\(port)/response", certificates: certificates),
            Receiver { _ in .file(whole.sink()) })
        #expect(end.outcome == .complete)
        #expect(end.receivedBytes == 20_000_000)
        let cutEnd = try await cut(port: port, path: "/response", certificates: certificates)
        #expect(cutEnd.failure?.code == .truncated, "\(cutEnd)")
    }

    /// Downloads through a proxy that closes the connection, without a reset, in the middle of the body.
    private func cut(port: UInt16, path: String, certificates: TestCertificates) async throws -> ExchangeEnd {
        let proxy = try ChaosProxy(to: port, conditions: ChaosProxy.Conditions(bytesPerSecond: 5_000_000))
        // The file accepts no more bytes before the connection is closed, however late that is.
        let file = try TestFile(ceiling: 1_000_000)
        let receiver = Receiver { _ in .file(file.sink()) }
        let transport = TestTransport()
        defer { withExtendedLifetime(transport) {} }
        let handle = transport.begin(
            .direct("https://localhost:\(proxy.port)\(path)", certificates: certificates), receiver)
        try await eventually("some of the body") { file.position.value == 1_000_000 }
        proxy.killConnections(reset: false)
        file.ceiling.value = .max
        handle.resumeWriting()
        return try await receiver.end()
    }
}
