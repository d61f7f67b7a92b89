/// A certificate authority of its own, with a server's and a client's certificate, made by the openssl command.
package final class TestCertificates: Sendable {
    private let directory: TemporaryDirectory

    /// PEM files.
    package var authority: String { directory.path("ca.pem") }
    package var serverCertificate: String { directory.path("server.pem") }
    package var serverKey: String { directory.path("server.key") }
    package var clientCertificate: String { directory.path("client.pem") }
    package var clientKey: String { directory.path("client.key") }

    /// The server's certificate is for `localhost` and both loopback addresses.
    package init() async throws {
        directory = try TemporaryDirectory()
        let subject = ["-out", authority, "-days", "2", "-subj", "/CN=Nightshift test authority"]
        try await openssl(["req", "-x509"] + newKey("ca") + subject)
        try await issue("server", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\nextendedKeyUsage=serverAuth\n")
        try await issue("client", "extendedKeyUsage=clientAuth\n")
    }

    private func newKey(_ name: String) -> [String] {
        let key = directory.path("\(name).key")
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key]
    }

    private func issue(_ name: String, _ extensions: String) async throws {
        let request = directory.path("\(name).csr")
        let extensions = try directory.write(extensions, to: "\(name).ext")
        try await openssl(["req"] + newKey(name) + ["-out", request, "-subj", "/CN=\(name)"])
        try await openssl([
            "x509", "-req", "-in", request, "-CA", authority, "-CAkey", directory.path("ca.key"), "-CAcreateserial",
            "-days", "2", "-extfile", extensions, "-out", directory.path("\(name).pem"),
        ])
    }

    private func openssl(_ arguments: [String]) async throws {
        let outcome = try await ChildProcess.run("openssl", arguments)
        guard outcome.code == 0 else {
            throw WebServer.CannotStart(description: "openssl \(arguments.first ?? ""): \(outcome.errors)")
        }
    }
}
