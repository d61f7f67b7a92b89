import Foundation
import NIOSSL
import PushStore
import SwiftASN1
import X509

/// One thing that a gateway needs, looked at.
package struct GatewayFinding: Sendable {
    package var isGood: Bool
    package var text: String

    package init(isGood: Bool, text: String) {
        self.isGood = isGood
        self.text = text
    }
}

/// Looks for what keeps a gateway from working, without one that runs.
package enum GatewayChecks {
    /// Seconds before its end from which on a certificate is a finding: two weeks.
    private static let warning: TimeInterval = 14 * 86_400

    package static func certificate(_ path: String, key: String) -> [GatewayFinding] {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(path)
            guard let leaf = chain.first else { return [.init(isGood: false, text: "\(path) holds no certificate.")] }
            let privateKey = try NIOSSLPrivateKey(file: key, format: .pem)
            _ = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey)))
            let end = try Certificate(derEncoded: leaf.toDERBytes()).notValidAfter
            let isGood = end.timeIntervalSinceNow > warning
            return [.init(isGood: isGood, text: "The certificate in \(path) is good until \(end.formatted(.iso8601)).")]
        } catch {
            return [
                .init(isGood: false, text: "The certificate in \(path) and the key in \(key) do not work: \(error)")
            ]
        }
    }

    package static func database(_ state: String) async -> [GatewayFinding] {
        let path = state + "/gateway.sqlite"
        guard FileManager.default.fileExists(atPath: path) else {
            return [.init(isGood: true, text: "There is no database in \(state) yet; the first run makes one.")]
        }
        do {
            let damage = try await PushStore(path: path).check()
            return [.init(isGood: damage == nil, text: damage ?? "The database \(path) is whole.")]
        } catch {
            return [.init(isGood: false, text: "The database \(path) cannot be read: \(error)")]
        }
    }
}
