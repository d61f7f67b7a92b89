import CTLS
import Foundation
import NightshiftCurl
import Synchronization

/// An observer of the TLS handshakes with one origin. It records problems that can be turned into a challenge.
///
/// OpenSSL retains this object as long as the connection, because a server may request a certificate after the
/// handshake.
final class OriginTrust: CurlTLSHook {
    /// The host, without the brackets of an IPv6 address.
    private let host: String
    private let trustedCertificates: Set<String>
    private let stopsAtUntrusted: Bool
    private let stopsAtCertificateRequest: Bool
    private let latest = Mutex<Finding?>(nil)

    /// The reason why this object ended a handshake.
    enum Finding: Hashable, Sendable {
        /// The certificate chain in DER, encoded as base64, with the server's own certificate first.
        case untrusted(certificates: [String], reason: String)
        case certificateWanted
    }

    init(
        host: String, trustedCertificates: Set<String>, stopsAtUntrusted: Bool, stopsAtCertificateRequest: Bool
    ) {
        self.host = host
        self.trustedCertificates = trustedCertificates
        self.stopsAtUntrusted = stopsAtUntrusted
        self.stopsAtCertificateRequest = stopsAtCertificateRequest
    }

    /// The finding of the last handshake; nil if the handshake had no problem.
    var finding: Finding? { latest.withLock { $0 } }

    // MARK: - CurlTLSHook

    /// The group of connections that may be reused. It is nil if this object accepts only connections that libcurl
    /// would also accept.
    var connectionGroup: String? {
        if trustedCertificates.isEmpty, !stopsAtCertificateRequest { return nil }
        return "\(stopsAtCertificateRequest) \(trustedCertificates.sorted().joined(separator: " "))"
    }

    var checksName: Bool { !trustedCertificates.isEmpty }

    func prepare(context: UnsafeMutableRawPointer) -> Bool {
        // This is a proxy's context: a server's context has a maximum of TLS 1.2 or no maximum.
        if nightshift_tls_maximum_version(context) == Self.proxyMaximum { return true }
        latest.withLock { $0 = nil }
        let owner = Unmanaged.passRetained(self)
        guard Self.ownerIndex >= 0,
            nightshift_tls_set_owner(context, Self.ownerIndex, owner.toOpaque()) == 1
        else {
            owner.release()
            return false
        }
        if stopsAtUntrusted || checksName {
            nightshift_tls_set_verify_callback(
                context,
                { verification, owner in
                    guard let verification, let owner else { return 0 }
                    return Unmanaged<OriginTrust>.fromOpaque(owner)._withUnsafeGuaranteedRef {
                        $0.trusts(verification) ? 1 : 0
                    }
                }, owner.toOpaque())
        }
        if stopsAtCertificateRequest {
            nightshift_tls_set_certificate_callback(
                context,
                { _, owner in
                    guard let owner else { return 0 }
                    Unmanaged<OriginTrust>.fromOpaque(owner)._withUnsafeGuaranteedRef {
                        $0.latest.withLock { $0 = .certificateWanted }
                    }
                    return 0
                }, owner.toOpaque())
        }
        return true
    }

    private static let ownerIndex = nightshift_tls_owner_index { owner in
        if let owner { Unmanaged<OriginTrust>.fromOpaque(owner).release() }
    }

    // MARK: - Certificates

    private func trusts(_ verification: OpaquePointer) -> Bool {
        if nightshift_tls_expect_name(verification, host) == 1, nightshift_tls_verify(verification) == 1 {
            return true
        }
        if isTrustedAnyway(verification) {
            // The result must be set because libcurl reads it again.
            nightshift_tls_set_result(verification, 0)
            return true
        }
        // The result is set to an error even if the check could not begin.
        if nightshift_tls_result(verification) == 0 { nightshift_tls_set_result(verification, Self.unspecified) }
        if stopsAtUntrusted {
            let reason = nightshift_tls_result_text(nightshift_tls_result(verification)).map { String(cString: $0) }
            let finding = Finding.untrusted(
                certificates: Self.certificates(verification), reason: reason ?? "unknown error")
            latest.withLock { $0 = finding }
        }
        return false
    }

    /// Returns whether the server's own certificate is one of the explicitly trusted certificates.
    private func isTrustedAnyway(_ verification: OpaquePointer) -> Bool {
        guard !trustedCertificates.isEmpty else { return false }
        var digest = [UInt8](repeating: 0, count: 32)
        guard nightshift_tls_leaf_sha256(verification, &digest) == 1 else { return false }
        let digits = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return trustedCertificates.contains(digits.joined())
    }

    /// Returns the certificate chain. OpenSSL limits it to 100 KiB.
    private static func certificates(_ verification: OpaquePointer) -> [String] {
        (0..<max(0, nightshift_tls_certificate_count(verification))).compactMap { index in
            let length = nightshift_tls_certificate_der(verification, index, nil)
            guard length > 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: Int(length))
            guard nightshift_tls_certificate_der(verification, index, &bytes) == length else { return nil }
            return Data(bytes).base64EncodedString()
        }
    }

    /// `TLS1_3_VERSION`, the maximum that `EasyOptions` sets for proxies.
    private static let proxyMaximum = 0x0304

    /// `X509_V_ERR_UNSPECIFIED`.
    private static let unspecified: Int32 = 1
}
