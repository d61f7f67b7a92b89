public import Foundation
public import FoundationNetworking

/// A client certificate in files, which the service reads when it needs them.
public final class ClientCertificateCredential: URLCredential, @unchecked Sendable {
    // Unchecked as its base class is; what is added is constant.

    /// PEM: the certificate, with its chain behind it.
    public let certificateFile: URL
    /// PEM, without a passphrase; nil where the key is in ``certificateFile``.
    public let keyFile: URL?

    /// - Parameters:
    ///   - certificateFile: the path of a PEM file that stays where it is for as long as the session has transfers.
    ///   - keyFile: nil where the key is in the certificate's file.
    public init(certificateFile: URL, keyFile: URL? = nil) {
        self.certificateFile = certificateFile.absoluteURL
        self.keyFile = keyFile?.absoluteURL
        super.init(user: "", password: "", persistence: .forSession)
    }

    @available(*, unavailable, message: "Its files are not archived.")
    public required init?(coder: NSCoder) {
        fatalError("Its files are not archived.")
    }
}

extension URLCredential {
    /// The answer to `NSURLAuthenticationMethodClientCertificate`: PEM files, in place of Apple's `SecIdentity`.
    public static func clientCertificate(file: URL, keyFile: URL? = nil) -> URLCredential {
        ClientCertificateCredential(certificateFile: file, keyFile: keyFile)
    }

    /// The answer to `NSURLAuthenticationMethodServerTrust` that trusts the server.
    public convenience init(trust: ServerTrust) {
        self.init(user: "", password: "", persistence: .forSession)
    }
}
