import CNightshift
import NightshiftAPI

/// A setter for the options of one libcurl handle. It records the first option that libcurl refused.
struct EasyOptions {
    private let easy: UnsafeMutableRawPointer
    private(set) var failed: CURLcode?

    /// The number of bytes read from the socket at once. It is libcurl's maximum. libcurl delivers the bytes in pieces
    /// of 16 KiB regardless. Plain HTTP takes 0.83 s of CPU time per GiB with this size and 1.0 s with 16 KiB. TLS
    /// takes the same time with any size.
    static let receiveBuffer = 524_288
    /// The number of bytes read at once from the file to send.
    static let sendBuffer = 262_144
    /// The size above which a body is sent only after the server has agreed (RFC 9110, section 10.1.1).
    static let unannouncedBody: Int64 = 1 << 20

    init(_ easy: UnsafeMutableRawPointer) {
        self.easy = easy
    }

    /// Sets all options except the callbacks. The returned list must live as long as the handle.
    mutating func set(
        _ request: CurlRequest, share: UnsafeMutableRawPointer?, errorText: UnsafeMutablePointer<CChar>
    ) -> UnsafeMutablePointer<curl_slist>? {
        set(CURLOPT_ERRORBUFFER, errorText)
        set(CURLOPT_SHARE, share)
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_NETRC, 0)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_NOPROGRESS, 1)
        // With this option, cancelling does not wait for a resolver's thread.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_TCP_NODELAY, 1)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_BUFFERSIZE, Self.receiveBuffer)
        set(CURLOPT_UPLOAD_BUFFERSIZE, Self.sendBuffer)
        if let timeout = request.idleTimeout {
            set(CURLOPT_CONNECTTIMEOUT_MS, Int(saturating: min(max(timeout, 0.001) * 1000, 1e9).rounded(.up)))
        }
        setRoute(request)
        setSecurity(request)
        setCredentials(request)
        setMethod(request)
        return setHeaders(request)
    }

    private mutating func setRoute(_ request: CurlRequest) {
        if let path = request.unixSocket { set(CURLOPT_UNIX_SOCKET_PATH, path) }
        setProxy(request.proxy)
        // Header fields of the request are for the server, not for a proxy that only makes a tunnel.
        set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    }

    /// Sets the proxy and the hosts that bypass it. Otherwise libcurl would read both settings from the environment of
    /// this process, which may be untrusted.
    mutating func setProxy(_ proxy: String?) {
        set(CURLOPT_PROXY, proxy ?? "")
        set(CURLOPT_NOPROXY, "")
    }

    private mutating func setSecurity(_ request: CurlRequest) {
        set(CURLOPT_HTTP_VERSION, request.usesHTTP1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS)
        let oldest = request.minimumTLSVersion == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2
        // A maximum of 1.3 is not set here. It would have no effect on the connection, but the hook would mistake the
        // context for a proxy's.
        let newest = request.maximumTLSVersion == .tls12 ? CURL_SSLVERSION_MAX_TLSv1_2 : CURL_SSLVERSION_MAX_NONE
        set(CURLOPT_SSLVERSION, oldest | newest)
        if let path = request.certificateAuthority {
            set(CURLOPT_CAINFO, path)
            setString(CURLOPT_CAPATH, nil)
        }
        if let path = request.clientCertificate {
            set(CURLOPT_SSLCERT, path)
            set(CURLOPT_SSLKEY, request.clientKey ?? path)
        }
        if let hook = request.tlsHook {
            guard Self.hasOpenSSL else {
                failed = failed ?? CURLE_NOT_BUILT_IN
                return
            }
            if hook.checksName { set(CURLOPT_SSL_VERIFYHOST, 0) }
            // This maximum does not affect the connection. The hook recognises a proxy's context by it.
            set(CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_TLSv1_3)
        }
    }

    private mutating func setCredentials(_ request: CurlRequest) {
        if let credential = request.credential {
            set(CURLOPT_USERNAME, credential.user)
            set(CURLOPT_PASSWORD, credential.password)
            set(CURLOPT_HTTPAUTH, Self.schemes(credential.scheme))
        }
        set(CURLOPT_PROXYAUTH, Self.schemes(request.proxyScheme))
    }

    private static func schemes(_ scheme: CurlCredential.Scheme) -> Int {
        let schemes =
            switch scheme {
            case .any: nightshift_curl_auth_basic | nightshift_curl_auth_digest
            case .basic: nightshift_curl_auth_basic
            case .digest: nightshift_curl_auth_digest
            }
        return Int(bitPattern: schemes)
    }

    /// Whether libcurl passes OpenSSL objects to a hook.
    private static let hasOpenSSL =
        curl_version_info(CURLVERSION_FIRST)?.pointee.ssl_version.map { String(cString: $0).hasPrefix("OpenSSL/") }
        == true

    private mutating func setMethod(_ request: CurlRequest) {
        // The body has a known length. If a method is expected to have a body, the request announces length 0 for an
        // empty body.
        if request.body.size > 0 || ["POST", "PUT", "PATCH"].contains(request.method) {
            set(CURLOPT_UPLOAD, 1)
            failed = failed ?? check(nightshift_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, Int(request.body.size)))
        } else if request.method == "HEAD" {
            set(CURLOPT_NOBODY, 1)
            return
        } else {
            set(CURLOPT_HTTPGET, 1)
        }
        if request.method != "GET" || request.body.size > 0 { set(CURLOPT_CUSTOMREQUEST, request.method) }
    }

    private mutating func setHeaders(_ request: CurlRequest) -> UnsafeMutablePointer<curl_slist>? {
        // libcurl's syntax for a field with an empty value is a semicolon.
        var lines = request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        let asksFirst = request.body.size > Self.unannouncedBody && request.asksBeforeLargeBody
        if !asksFirst, !request.headers.contains(where: { $0.isNamed("expect") }) {
            // libcurl would add this field to every PUT. A field name without a value removes the field.
            lines.append("Expect:")
        }
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                failed = failed ?? CURLE_OUT_OF_MEMORY
                break
            }
            list = longer
        }
        if let list { set(CURLOPT_HTTPHEADER, list) }
        return list
    }

    // MARK: - One option

    mutating func set(_ option: CURLoption, _ value: Int) {
        failed = failed ?? check(nightshift_curl_set_long(easy, option, value))
    }

    mutating func set(_ option: CURLoption, _ value: String) {
        setString(option, value)
    }

    mutating func setString(_ option: CURLoption, _ value: String?) {
        failed = failed ?? check(nightshift_curl_set_string(easy, option, value))
    }

    mutating func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
        failed = failed ?? check(nightshift_curl_set_pointer(easy, option, value))
    }

    mutating func set(_ option: CURLoption, _ callback: nightshift_curl_data_callback) {
        failed = failed ?? check(nightshift_curl_set_data_callback(easy, option, callback))
    }

    mutating func setSeek(_ callback: nightshift_curl_seek_callback) {
        failed = failed ?? check(nightshift_curl_set_seek_callback(easy, CURLOPT_SEEKFUNCTION, callback))
    }

    mutating func setProgress(_ callback: nightshift_curl_progress_callback) {
        failed = failed ?? check(nightshift_curl_set_progress_callback(easy, CURLOPT_XFERINFOFUNCTION, callback))
    }

    mutating func setTLS(_ callback: curl_ssl_ctx_callback) {
        failed = failed ?? check(nightshift_curl_set_tls_callback(easy, CURLOPT_SSL_CTX_FUNCTION, callback))
    }

    mutating func setBeforeRequest(_ callback: curl_prereq_callback) {
        failed = failed ?? check(nightshift_curl_set_request_callback(easy, CURLOPT_PREREQFUNCTION, callback))
    }

    mutating func setOpen(_ callback: curl_opensocket_callback) {
        failed = failed ?? check(nightshift_curl_set_open_callback(easy, CURLOPT_OPENSOCKETFUNCTION, callback))
    }

    mutating func setClose(_ callback: curl_closesocket_callback) {
        failed = failed ?? check(nightshift_curl_set_close_callback(easy, CURLOPT_CLOSESOCKETFUNCTION, callback))
    }

    private func check(_ code: CURLcode) -> CURLcode? {
        code == CURLE_OK ? nil : code
    }
}
