package import NightshiftAPI

/// The app's answers to one origin.
package struct OriginAnswer: Hashable, Sendable {
    package var credential: Credential?
    /// The path of a PEM file.
    package var clientCertificate: String?
    package var clientKey: String?
    /// Certificates that the origin may present even if the system does not trust them: SHA-256 of their DER encoding
    /// in lower-case hexadecimal.
    package var trustedCertificates: Set<String> = []

    package init() {}

    /// Whether these answers contain a new answer to the challenge, compared with the answers in `shown` that led to
    /// it.
    ///
    /// - Parameter leafDigest: the digest of the server's certificate, in the form of ``trustedCertificates``.
    package func answers(_ challenge: Challenge, leafDigest: String?, besides shown: OriginAnswer) -> Bool {
        switch challenge.method {
        case .basic, .digest: credential != nil && credential != shown.credential
        case .clientCertificate: clientCertificate != nil && clientCertificate != shown.clientCertificate
        case .serverTrust:
            leafDigest.map { trustedCertificates.contains($0) && !shown.trustedCertificates.contains($0) } ?? false
        }
    }
}
