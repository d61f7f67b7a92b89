public import Foundation
public import FoundationNetworking

/// A credential with a client certificate that is stored in files. The service reads the files when it needs the
/// certificate.
public final class ClientCertificateCredential: URLCredential, @unchecked Sendable {
    // The conformance is unchecked, because the conformance of the base class is also unchecked. The added properties
    // are constant.

    /// The PEM file with the certificate, followed by its chain.
    public let certificateFile: URL
    /// The PEM file with the private key, without a passphrase. Nil if the key is in ``certificateFile``.
    public let keyFile: URL?

    /// Creates a credential from PEM files.
    ///
    /// - Parameters:
    ///   - certificateFile: The PEM file with the certificate. Do not move or delete the file while the session has
    ///     transfers.
    ///   - keyFile: The PEM file with the private key. Pass nil if the key is in the certificate's file.
    public init(certificateFile: URL, keyFile: URL? = nil) {
        self.certificateFile = certificateFile.absoluteURL
        self.keyFile = keyFile?.absoluteURL
        super.init(user: "", password: "", persistence: .forSession)
    }

    @available(*, unavailable, message: "A credential with certificate files cannot be archived.")
    public required init?(coder: NSCoder) {
        fatalError("A credential with certificate files cannot be archived.")
    }
}

extension URLCredential {
    /// Returns a credential that answers `NSURLAuthenticationMethodClientCertificate`. PEM files replace the
    /// `SecIdentity` of Apple's API.
    public static func clientCertificate(file: URL, keyFile: URL? = nil) -> URLCredential {
        ClientCertificateCredential(certificateFile: file, keyFile: keyFile)
    }

    /// Creates a credential that answers `NSURLAuthenticationMethodServerTrust` by trusting the server.
    public convenience init(trust: ServerTrust) {
        self.init(user: "", password: "", persistence: .forSession)
    }
}
