import Foundation
import Logging
import NIOSSL
import Synchronization

/// The gateway's certificate, which is read again when its files have changed.
///
/// The files are checked when a connection arrives, so no polling is needed. If a file cannot be read, the last valid
/// certificate stays in use.
final class TLSFiles: Sendable {
    private struct State {
        var stamp: Stamp?
        var context: NIOSSLContext
    }

    private struct Stamp: Hashable {
        var certificate: FileStamp
        var key: FileStamp
    }

    private struct FileStamp: Hashable {
        var modified: Date?
        var size: Int?
        var inode: Int?

        init(_ path: String) {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            modified = attributes?[.modificationDate] as? Date
            size = attributes?[.size] as? Int
            inode = attributes?[.systemFileNumber] as? Int
        }
    }

    private let certificate: String
    private let key: String
    private let protocols: [String]
    private let asksForCertificate: Bool
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads the files.
    ///
    /// - Parameter protocols: the protocols to offer by ALPN.
    init(certificate: String, key: String, protocols: [String], asksForCertificate: Bool, logger: Logger) throws {
        self.certificate = certificate
        self.key = key
        self.protocols = protocols
        self.asksForCertificate = asksForCertificate
        self.logger = logger
        let stamp = Stamp(certificate: FileStamp(certificate), key: FileStamp(key))
        let context = try Self.context(certificate, key, protocols, asksForCertificate)
        state = Mutex(State(stamp: stamp, context: context))
    }

    var context: NIOSSLContext {
        state.withLock { state in
            let stamp = Stamp(certificate: FileStamp(certificate), key: FileStamp(key))
            if stamp != state.stamp {
                state.stamp = stamp
                do {
                    state.context = try Self.context(certificate, key, protocols, asksForCertificate)
                    logger.notice("The certificate was read again.", metadata: ["file": "\(certificate)"])
                } catch {
                    logger.error(
                        "The certificate cannot be read. The last valid one stays in use.",
                        metadata: ["file": "\(certificate)", "reason": "\(error)"])
                }
            }
            return state.context
        }
    }

    private static func context(
        _ certificate: String, _ key: String, _ protocols: [String], _ asksForCertificate: Bool
    ) throws -> NIOSSLContext {
        var configuration = try CertificateFiles.pair(certificate: certificate, key: key).configuration
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        configuration.certificateVerification = asksForCertificate ? .optionalVerification : .none
        return try NIOSSLContext(configuration: configuration)
    }
}
