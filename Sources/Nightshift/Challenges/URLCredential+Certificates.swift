public import Foundation
public import FoundationNetworking

/// A client certificate in files. The service reads the files when it needs them.
public final class ClientCertificateCredential: URLCredential, @unchecked Sendable {
    // Unchecked, like the base class: the added properties are constant.

    /// The PEM file with the certificate, followed by its chain.
    public let certificateFile: URL
    /// The PEM file with the private key, without a passphrase. Nil if the key is in ``certificateFile``.
    public let keyFile: URL?

    /// - Parameters:
    ///   - certificateFile: The path of a PEM file, which must stay there for as long as the session has transfers.
    ///   - keyFile: The path of the key's PEM file; nil if the key is in the certificate's file.
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
    /// Returns the credential that answers `NSURLAuthenticationMethodClientCertificate`. PEM files replace Apple's
    /// `SecIdentity`.
    public static func clientCertificate(file: URL, keyFile: URL? = nil) -> URLCredential {
        ClientCertificateCredential(certificateFile: file, keyFile: keyFile)
    }

    /// Creates the credential that answers `NSURLAuthenticationMethodServerTrust` by trusting the server.
    public convenience init(trust: ServerTrust) {
        self.init(user: "", password: "", persistence: .forSession)
    }
}
