import Foundation
import NIOSSL
package import PushStore
import SwiftASN1
import Synchronization
import X509

/// The verdict on a provider's certificate.
package enum CertificateVerdict: Sendable, Hashable {
    /// The provider sent no certificate and needs a token.
    case none
    /// The certificate is valid for these topics and this environment.
    case trusted(topics: [String], environment: KeyRecord.Environment)
    /// The certificate is not valid: it has another issuer, has expired, is not yet valid, or names no topic.
    case untrusted
}

/// The verification of the certificates that providers present.
///
/// A certificate names its topics as user ids (UID) in its subject, as in APNs. Its extensions name the environment. A
/// certificate without such an extension is valid for any environment.
final class CertificateJudge: Sendable {
    private struct Trust {
        var verdict: CertificateVerdict
        /// The earliest expiry time of the certificates in the chain.
        var end: Date
    }

    /// The maximum number of remembered certificates. Only trusted certificates are remembered.
    private static let limit = 10_000

    private let roots: [Certificate]
    /// The trusted certificates, by their encoded bytes. A provider that resumes a TLS session does not present its
    /// chain again.
    private let trusted = Mutex<[[UInt8]: Trust]>([:])

    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]
    private static let development: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 1]
    private static let production: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 2]

    /// Reads the authorities.
    ///
    /// - Parameter file: the path of the PEM file with the authorities.
    init(file: String) throws {
        roots = try CertificateFiles.certificates(file, "providers' authority")
            .map { try Certificate(derEncoded: $0.toDERBytes()) }
    }

    func judge(_ chain: [NIOSSLCertificate]) async -> CertificateVerdict {
        let certificates = chain.compactMap { try? Certificate(derEncoded: $0.toDERBytes()) }
        guard let leaf = certificates.first, certificates.count == chain.count else { return .untrusted }
        var verifier = Verifier(rootCertificates: CertificateStore(roots)) { RFC5280Policy() }
        let intermediates = CertificateStore(certificates.dropFirst())
        guard case .validCertificate(let valid) = await verifier.validate(leaf: leaf, intermediates: intermediates),
            let end = valid.map(\.notValidAfter).min()
        else { return .untrusted }
        let topics = leaf.subject.flatMap { $0 }.filter { $0.type == Self.userID }.compactMap { String($0.value) }
        guard !topics.isEmpty else { return .untrusted }
        let isDevelopment = leaf.extensions[oid: Self.development] != nil
        let isProduction = leaf.extensions[oid: Self.production] != nil
        let environment: KeyRecord.Environment =
            isDevelopment == isProduction ? .any : isDevelopment ? .development : .production
        let verdict = CertificateVerdict.trusted(topics: topics, environment: environment)
        remember(chain[0], Trust(verdict: verdict, end: end))
        return verdict
    }

    private func remember(_ certificate: NIOSSLCertificate, _ trust: Trust) {
        guard let bytes = try? certificate.toDERBytes() else { return }
        trusted.withLock { trusted in
            if trusted.count >= Self.limit { trusted = [:] }
            trusted[bytes] = trust
        }
    }

    /// Returns the verdict on the certificate of a resumed TLS session, which was verified when the session began.
    func judge(resumed certificate: NIOSSLCertificate) -> CertificateVerdict {
        guard let bytes = try? certificate.toDERBytes(), let trust = trusted.withLock({ $0[bytes] }),
            Date() <= trust.end
        else { return .untrusted }
        return trust.verdict
    }
}

/// The verdict on a connection's certificate. It is set before the first request.
final class CertificateBox: Sendable {
    private let value = Mutex(CertificateVerdict.none)

    var verdict: CertificateVerdict { value.withLock { $0 } }

    func set(_ verdict: CertificateVerdict) {
        value.withLock { $0 = verdict }
    }
}
