/// A private certificate authority with a server's and a client's certificate, created by the openssl command.
package final class TestCertificates: Sendable {
    private let directory: TemporaryDirectory

    /// The path of the authority's PEM file.
    package var authority: String { directory.path("ca.pem") }
    package var serverCertificate: String { directory.path("server.pem") }
    package var serverKey: String { directory.path("server.key") }
    package var clientCertificate: String { directory.path("client.pem") }
    package var clientKey: String { directory.path("client.key") }

    /// The flaws that a server's certificate can have.
    package enum Flaw: String, Sendable, CaseIterable {
        case expired
        case otherName
        case selfSigned
    }

    /// Creates the certificates. The server's certificate is for `localhost` and both loopback addresses, unless the
    /// flaw is a wrong name.
    package init(server flaw: Flaw? = nil) async throws {
        directory = try TemporaryDirectory()
        let subject = ["-out", authority, "-days", "2", "-subj", "/CN=Nightshift test authority"]
        try await openssl(["req", "-x509"] + newKey("ca") + subject)
        let names = flaw == .otherName ? "DNS:other.example" : "DNS:localhost,IP:127.0.0.1,IP:::1"
        if flaw == .selfSigned {
            let subject = ["-out", serverCertificate, "-days", "2", "-subj", "/CN=server"]
            try await openssl(["req", "-x509"] + newKey("server") + subject + ["-addext", "subjectAltName=\(names)"])
        } else {
            let extensions = "subjectAltName=\(names)\nextendedKeyUsage=serverAuth\n"
            try await issue("server", extensions, days: flaw == .expired ? -1 : 2)
        }
        try await issue("client", "extendedKeyUsage=clientAuth\n", days: 2)
    }

    private func newKey(_ name: String) -> [String] {
        let key = directory.path("\(name).key")
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key]
    }

    private func issue(_ name: String, _ extensions: String, days: Int) async throws {
        let request = directory.path("\(name).csr")
        let extensions = try directory.write(extensions, to: "\(name).ext")
        try await openssl(["req"] + newKey(name) + ["-out", request, "-subj", "/CN=\(name)"])
        try await openssl([
            "x509", "-req", "-in", request, "-CA", authority, "-CAkey", directory.path("ca.key"), "-CAcreateserial",
            "-days", "\(days)", "-extfile", extensions, "-out", directory.path("\(name).pem"),
        ])
    }

    private func openssl(_ arguments: [String]) async throws {
        let outcome = try await ChildProcess.run("openssl", arguments)
        guard outcome.code == 0 else {
            throw WebServer.CannotStart(description: "openssl \(arguments.first ?? ""): \(outcome.errors)")
        }
    }
}
