import Foundation
import NIOSSL
package import PushStore
import SwiftASN1
import Synchronization
import X509

/// What a provider's certificate is worth.
package enum CertificateVerdict: Sendable, Hashable {
    /// There is none: the provider has to show a token.
    case none
    /// The topics in its subject, and for which environment it was made.
    case trusted(topics: [String], environment: KeyRecord.Environment)
    /// Signed by somebody else, out of its time, or without a topic.
    case untrusted
}

/// Judges the certificates that providers present.
///
/// A certificate names its topics as user ids (UID) in its subject, as APNs has them. An extension says for which
/// environment it is; without one it is for any.
final class CertificateJudge: Sendable {
    private struct Trust {
        var verdict: CertificateVerdict
        /// When the first certificate of its chain ends.
        var end: Date
    }

    /// Certificates that are remembered; none of them is a stranger's.
    private static let limit = 10_000

    private let roots: [Certificate]
    /// By the certificate's bytes. Where a provider goes on with an earlier session of TLS, it presents its chain no more.
    private let trusted = Mutex<[[UInt8]: Trust]>([:])

    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]
    private static let development: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 1]
    private static let production: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 2]

    /// - Parameter file: PEM.
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

    /// The verdict on the certificate that was presented when a session began which now goes on over another connection.
    func judge(resumed certificate: NIOSSLCertificate) -> CertificateVerdict {
        guard let bytes = try? certificate.toDERBytes(), let trust = trusted.withLock({ $0[bytes] }),
            Date() <= trust.end
        else { return .untrusted }
        return trust.verdict
    }
}

/// The verdict on a connection's certificate, which is there before its first request.
final class CertificateBox: Sendable {
    private let value = Mutex(CertificateVerdict.none)

    var verdict: CertificateVerdict { value.withLock { $0 } }

    func set(_ verdict: CertificateVerdict) {
        value.withLock { $0 = verdict }
    }
}
