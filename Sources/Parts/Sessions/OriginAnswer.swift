package import NightshiftAPI

/// The answers of an app to the challenges of one origin.
package struct OriginAnswer: Hashable, Sendable {
    package var credential: Credential?
    /// The path of a PEM file with the client certificate.
    package var clientCertificate: String?
    package var clientKey: String?
    /// The certificates that the origin may present even if the system does not trust them. Each is the SHA-256 digest
    /// of the certificate in DER, in lower-case hexadecimal.
    package var trustedCertificates: Set<String> = []

    package init() {}

    /// Returns whether these answers contain a new answer to the challenge. An answer is new if the answers in `shown`,
    /// which led to the challenge, do not contain it.
    ///
    /// - Parameter leafDigest: The digest of the server's certificate, in the form of ``trustedCertificates``.
    package func answers(_ challenge: Challenge, leafDigest: String?, besides shown: OriginAnswer) -> Bool {
        switch challenge.method {
        case .basic, .digest: credential != nil && credential != shown.credential
        case .clientCertificate: clientCertificate != nil && clientCertificate != shown.clientCertificate
        case .serverTrust:
            leafDigest.map { trustedCertificates.contains($0) && !shown.trustedCertificates.contains($0) } ?? false
        }
    }
}
