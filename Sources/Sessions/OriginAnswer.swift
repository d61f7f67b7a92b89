package import NightshiftAPI

/// The app's answers to one origin.
package struct OriginAnswer: Hashable, Sendable {
    package var credential: Credential?
    /// PEM files.
    package var clientCertificate: String?
    package var clientKey: String?
    /// Certificates that the origin may show whatever the system says of them: SHA-256 of their DER in lower-case hexadecimal
    /// digits.
    package var trustedCertificates: Set<String> = []

    package init() {}

    /// Whether this has something to say to the challenge that `shown`, which met it, had not.
    ///
    /// - Parameter leafDigest: of the server's own certificate, as ``trustedCertificates`` has them.
    package func answers(_ challenge: Challenge, leafDigest: String?, besides shown: OriginAnswer) -> Bool {
        switch challenge.method {
        case .basic, .digest: credential != nil && credential != shown.credential
        case .clientCertificate: clientCertificate != nil && clientCertificate != shown.clientCertificate
        case .serverTrust:
            leafDigest.map { trustedCertificates.contains($0) && !shown.trustedCertificates.contains($0) } ?? false
        }
    }
}
