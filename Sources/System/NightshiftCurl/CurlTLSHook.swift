/// A hook into a request's TLS handshakes. It requires libcurl with OpenSSL. With any other TLS library, the request
/// fails.
package protocol CurlTLSHook: AnyObject, Sendable {
    /// The group of requests that may reuse each other's connections and TLS sessions. Groups are needed because a hook
    /// checks a certificate only during the handshake. Nil means the group of all requests without a hook.
    var connectionGroup: String? { get }

    /// Whether the hook checks the server's name instead of libcurl.
    var checksName: Bool { get }

    /// Prepares a handshake, and returns whether it may begin. The loop's thread calls this method before each
    /// handshake, including the one with an https proxy.
    ///
    /// Callbacks that are set here may be called as long as the context exists, which is longer than the exchange.
    ///
    /// - Parameter context: OpenSSL's `SSL_CTX`. The context for a proxy has TLS 1.3 as its maximum version. The
    ///   context for an origin does not set that maximum.
    func prepare(context: UnsafeMutableRawPointer) -> Bool
}
