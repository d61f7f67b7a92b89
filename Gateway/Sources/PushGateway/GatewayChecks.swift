package import Foundation
import Glibc
import NIOSSL
import PushStore
import SwiftASN1
import X509

/// The result of one check of the gateway's requirements.
package struct GatewayFinding: Sendable {
    package var isGood: Bool
    package var text: String

    package init(isGood: Bool, text: String) {
        self.isGood = isGood
        self.text = text
    }
}

/// Checks for problems that prevent a gateway from working. The checks do not need a running gateway.
package enum GatewayChecks {
    /// The time before a certificate's expiry at which warnings start, in seconds: two weeks.
    private static let warning: TimeInterval = 14 * 86_400

    package static func certificate(_ path: String, key: String) -> [GatewayFinding] {
        do {
            let leaf = try CertificateFiles.pair(certificate: path, key: key).chain[0]
            let certificate = try Certificate(derEncoded: leaf.toDERBytes())
            return [
                validity(
                    "The certificate in \(path)", certificate.notValidBefore, certificate.notValidAfter, now: Date())
            ]
        } catch {
            return [.init(isGood: false, text: "\(error)")]
        }
    }

    /// Checks the validity period of a certificate. The finding says whether the certificate is valid now, and whether
    /// it expires soon.
    package static func validity(_ name: String, _ start: Date, _ end: Date, now: Date) -> GatewayFinding {
        if start > now {
            let text = "\(name) is not valid before \(start.formatted(.iso8601)). Check this machine's clock."
            return .init(isGood: false, text: text)
        }
        let until = end.formatted(.iso8601)
        guard end > now else {
            return .init(isGood: false, text: "\(name) expired at \(until), so clients cannot connect. Renew it.")
        }
        guard end.timeIntervalSince(now) <= warning else {
            return .init(isGood: true, text: "\(name) is valid until \(until).")
        }
        let days = Int(end.timeIntervalSince(now) / 86_400)
        let left = days == 0 ? "less than a day" : days == 1 ? "1 day" : "\(days) days"
        return .init(isGood: false, text: "\(name) expires in \(left), at \(until). Renew it before then.")
    }

    /// Throws an error if a gateway with these settings could not start because of its files. Opens no port.
    package static func files(of settings: GatewaySettings) throws(GatewayError) {
        _ = try CertificateFiles.pair(certificate: settings.certificate, key: settings.privateKey)
        if let authority = settings.providerAuthority {
            _ = try CertificateFiles.certificates(authority, "providers' authority")
        }
    }

    package static func database(_ state: String) async -> [GatewayFinding] {
        let path = state + "/gateway.sqlite"
        if access(state, R_OK | X_OK) != 0, errno == EACCES {
            let text = "You have no permission to read \(state). Run this command as root, with sudo."
            return [.init(isGood: false, text: text)]
        }
        guard FileManager.default.fileExists(atPath: path) else {
            return [.init(isGood: true, text: "\(state) has no database yet. The first run creates it.")]
        }
        do {
            let damage = try await PushStore(path: path).check()
            return [.init(isGood: damage == nil, text: damage ?? "The database \(path) is intact.")]
        } catch {
            return [.init(isGood: false, text: "The database \(path) cannot be read: \(error)")]
        }
    }
}
