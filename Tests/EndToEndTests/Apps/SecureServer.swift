import Foundation
import TestSupport

/// An nginx server with a certificate that the system does not trust. No connection reaches it before ``letIn()``.
final class SecureServer: Sendable {
    static let content = Content.seeded(size: 300_000, seed: 91)
    let certificates: TestCertificates
    private let server: WebServer
    private let proxy: ChaosProxy
    private let log: TemporaryDirectory

    /// - Parameter wantsCertificate: whether the server requires a client certificate.
    init(wantsCertificate: Bool = false) async throws {
        certificates = try await TestCertificates()
        log = try TemporaryDirectory()
        // nginx sends the certificates that follow the server's own in its file.
        let chain = try fileBytes(certificates.serverCertificate) + fileBytes(certificates.authority)
        try Data(chain).write(to: URL(filePath: certificates.serverCertificate))
        var options = WebServer.NginxOptions()
        options.certificates = certificates
        options.requiresClientCertificate = wantsCertificate
        options.extra = "access_log \(log.path("requests"));"
        server = try await WebServer.nginx(options)
        try server.publish("file", Self.content)
        proxy = try ChaosProxy(to: server.port, conditions: ChaosProxy.Conditions(isBlackHole: true))
    }

    /// The server's port as clients see it.
    var port: Int { Int(proxy.port) }

    var url: String { "https://localhost:\(port)/file" }

    func letIn() {
        proxy.change { $0.isBlackHole = false }
    }

    /// Blocks all traffic to and from the server.
    func shutOut() {
        proxy.change { $0.isBlackHole = true }
    }

    var requestCount: Int {
        ((try? fileBytes(log.path("requests"))) ?? []).count { $0 == UInt8(ascii: "\n") }
    }

    /// Returns the certificates that the server presents, in DER: the server's own and its authority's.
    func chain() throws -> [Data] {
        let text = try String(contentsOfFile: certificates.serverCertificate, encoding: .utf8)
        let mark = "-----BEGIN CERTIFICATE-----"
        return text.split(separator: mark, omittingEmptySubsequences: true).compactMap { part in
            Data(base64Encoded: part.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined())
        }
    }
}
