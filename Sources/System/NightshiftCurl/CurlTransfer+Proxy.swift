import CNightshift

/// Failures of the proxy, as libcurl reports them.
extension CurlTransfer {
    /// Whether a proxy refused CONNECT, or a SOCKS proxy reported that it cannot reach the server.
    var proxyRefused: Bool {
        let status = Progress.long(easy, CURLINFO_HTTP_CONNECTCODE)
        if status >= 300, status != 407 { return true }
        let replies = [
            CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_HOST_UNREACHABLE, CURLPX_REPLY_NETWORK_UNREACHABLE,
            CURLPX_REPLY_TTL_EXPIRED, CURLPX_REPLY_NOT_ALLOWED, CURLPX_REPLY_GENERAL_SERVER_FAILURE,
            CURLPX_REQUEST_FAILED, CURLPX_RESOLVE_HOST,
        ]
        let reply = Progress.long(easy, CURLINFO_PROXY_ERROR)
        return replies.contains { Int($0.rawValue) == Int(reply) }
    }

    /// The proxy's demand for a credential, if it refused the tunnel for that reason.
    var refusedTunnel: CurlRefusedTunnel? {
        guard Progress.long(easy, CURLINFO_HTTP_CONNECTCODE) == 407 else { return nil }
        let offered = UInt(bitPattern: Int(Progress.long(easy, CURLINFO_PROXYAUTH_AVAIL)))
        return CurlRefusedTunnel(
            offersBasic: offered & nightshift_curl_auth_basic != 0,
            offersDigest: offered & nightshift_curl_auth_digest != 0)
    }
}
