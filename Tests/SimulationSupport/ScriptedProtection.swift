package import NightshiftAPI
import Transfers

/// The proof that an origin requires before it serves a file.
package struct ScriptedProtection: Sendable {
    /// The challenge exactly as the server sends it. The transport adds no fields.
    package var challenge: Challenge
    /// The credential that is accepted for Basic and Digest.
    package var credential: Credential?
    /// The SHA-256 of the certificate in hexadecimal digits, for a server that the system does not trust.
    package var digest: String?

    package static func basic(
        host: String, realm: String? = nil, user: String, password: String
    ) -> ScriptedProtection {
        var challenge = Challenge(method: .basic, host: host, port: 80, scheme: "http")
        challenge.realm = realm
        return ScriptedProtection(challenge: challenge, credential: Credential(user: user, password: password))
    }

    /// - Parameters:
    ///   - certificate: base64, as in the challenge.
    ///   - digest: the SHA-256 of the certificate's bytes.
    package static func unknownServer(host: String, certificate: String, digest: String) -> ScriptedProtection {
        var challenge = Challenge(method: .serverTrust, host: host, port: 80, scheme: "http")
        challenge.certificates = [certificate]
        challenge.reason = "Nobody knows it."
        return ScriptedProtection(challenge: challenge, digest: digest)
    }

    enum Verdict {
        case passes
        case asks
        case refuses
    }

    func judge(_ request: WireRequest) -> Verdict {
        let isSatisfied =
            switch challenge.method {
            case .basic, .digest:
                credential.map { isShown($0, by: request) } ?? true
            case .serverTrust: digest.map(request.trustedCertificates.contains) ?? true
            case .clientCertificate: request.tls?.clientCertificate != nil
            }
        if isSatisfied { return .passes }
        return request.asksAbout.contains(challenge.method) ? .asks : .refuses
    }

    /// Returns whether the request sends the credential. A credential for a proxy is in the proxy's address.
    private func isShown(_ credential: Credential, by request: WireRequest) -> Bool {
        guard challenge.isProxy else {
            return credential.user == request.credential?.user && credential.password == request.credential?.password
        }
        let userinfo = request.proxy.flatMap { ProxyAddress($0).userinfo }.map { String($0) }
        return userinfo == "\(credential.user):\(credential.password)"
    }

    /// The failure of a request that may not send a challenge to its app.
    var refusal: TransferFailure? {
        switch challenge.method {
        case .basic, .digest: nil
        case .serverTrust: TransferFailure(.untrustedServer, "Its certificate is not trusted.")
        case .clientCertificate: TransferFailure(.clientCertificate, "A client certificate is wanted.")
        }
    }
}
