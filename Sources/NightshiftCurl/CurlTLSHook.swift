/// Takes part in a request's TLS handshakes; for libcurl over OpenSSL only, all else ends the request.
package protocol CurlTLSHook: AnyObject, Sendable {
    /// Only requests of the same group use each other's connections and TLS sessions: what a hook has let pass was seen in
    /// the handshake and never again. Nil is the group of all requests without a hook.
    var connectionGroup: String? { get }

    /// Whether the server's name is the hook's to check; libcurl then does not.
    var checksName: Bool { get }

    /// Called on the loop's thread before each handshake, the one with an https proxy included.
    ///
    /// What is set up here may be called as long as the context lives, which is longer than the exchange. Returns whether
    /// the handshake may begin.
    ///
    /// - Parameter context: OpenSSL's `SSL_CTX`. A proxy's is one whose newest allowed version is said to be TLS 1.3; an
    ///   origin's leaves it open.
    func prepare(context: UnsafeMutableRawPointer) -> Bool
}
