/// Takes part in a request's TLS handshakes. It requires libcurl over OpenSSL; any other TLS library ends the request.
package protocol CurlTLSHook: AnyObject, Sendable {
    /// The group of requests that may reuse each other's connections and TLS sessions, because a hook checks a
    /// certificate only during the handshake. Nil is the group of all requests without a hook.
    var connectionGroup: String? { get }

    /// Whether the hook checks the server's name instead of libcurl.
    var checksName: Bool { get }

    /// Called on the loop's thread before each handshake, including the one with an https proxy.
    ///
    /// Callbacks that are set here may be called as long as the context lives, which is longer than the exchange.
    /// Returns whether the handshake may begin.
    ///
    /// - Parameter context: OpenSSL's `SSL_CTX`. A proxy's context has TLS 1.3 as its maximum version; an origin's does
    ///   not set that maximum.
    func prepare(context: UnsafeMutableRawPointer) -> Bool
}
