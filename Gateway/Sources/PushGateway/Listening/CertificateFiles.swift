import Glibc
import NIOSSL

/// The PEM files of certificates and keys. An error names the file, the problem and the remedy.
package enum CertificateFiles {
    /// A certificate chain and its private key.
    struct Pair {
        var chain: [NIOSSLCertificate]
        var key: NIOSSLPrivateKey
    }

    static func pair(certificate: String, key: String) throws(GatewayError) -> Pair {
        let chain = try certificates(certificate, "certificate chain")
        try check(key, "key")
        guard let privateKey = try? NIOSSLPrivateKey(file: key, format: .pem) else {
            throw unusable(key, "has no private key in PEM format")
        }
        let pair = Pair(chain: chain, key: privateKey)
        do {
            _ = try NIOSSLContext(configuration: pair.configuration)
        } catch {
            throw GatewayError(
                "The key in \(key) does not belong to the certificate in \(certificate): \(error)", isPermanent: true)
        }
        return pair
    }

    /// Reads the certificates in a PEM file.
    ///
    /// - Parameter what: the file's content, as an error message names it.
    static func certificates(_ path: String, _ what: String) throws(GatewayError) -> [NIOSSLCertificate] {
        try check(path, what)
        guard let chain = try? NIOSSLCertificate.fromPEMFile(path), !chain.isEmpty else {
            throw unusable(path, "has no certificate in PEM format")
        }
        return chain
    }

    private static func check(_ path: String, _ what: String) throws(GatewayError) {
        guard access(path, R_OK) != 0 else { return }
        if errno == ENOENT { throw unusable(path, "does not exist, but the gateway needs its \(what) there") }
        throw unusable(path, "cannot be read: \(String(cString: strerror(errno)))")
    }

    private static func unusable(_ path: String, _ reason: String) -> GatewayError {
        var text = "\(path) \(reason)."
        if let folder = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }), !folder.isEmpty,
            path.hasPrefix(folder + "/")
        {
            let name = path.dropFirst(folder.count + 1)
            text +=
                " systemd copies it from the path that LoadCredential=\(name) in the unit names, by default"
                + " /etc/nightshift-gateway/\(name). Put the file there, then restart the service."
        }
        return GatewayError(text, isPermanent: true)
    }
}

extension CertificateFiles.Pair {
    var configuration: TLSConfiguration {
        .makeServerConfiguration(certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    }
}
