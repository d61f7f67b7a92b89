import CNightshift
import Glibc

/// A URL as libcurl parses it.
struct LibcurlURL: Equatable {
    var scheme: String
    var user: String?
    var password: String?
    /// The host. Names are in punycode and in lower case, and IPv6 addresses are in brackets.
    var host: String
    var port: Int
    var path: String
    var query: String?

    /// Parses a text, or returns nil if libcurl refuses the URL.
    ///
    /// - Parameter flags: the flags for parsing, from `CURLU_…`.
    init?(parsing text: String, flags: Int32 = 0) {
        // The library libidn2 decodes text in the encoding of the thread's locale, which is ASCII unless another locale
        // was set.
        let locale = newlocale(1 << LC_CTYPE, "C.UTF-8", nil)
        let previous = locale.map { uselocale($0) }
        defer {
            if let locale, let previous {
                uselocale(previous)
                freelocale(locale)
            }
        }
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        guard curl_url_set(handle, CURLUPART_URL, text, UInt32(flags)) == CURLUE_OK,
            let scheme = Self.part(CURLUPART_SCHEME, of: handle),
            let host = Self.part(CURLUPART_HOST, of: handle, flags: CURLU_PUNYCODE),
            let port = Self.part(CURLUPART_PORT, of: handle, flags: CURLU_DEFAULT_PORT).flatMap({ Int($0) }),
            let path = Self.part(CURLUPART_PATH, of: handle)
        else { return nil }
        self.scheme = scheme.lowercased()
        self.host = host.lowercased()
        self.port = port
        self.path = path
        user = Self.part(CURLUPART_USER, of: handle)
        password = Self.part(CURLUPART_PASSWORD, of: handle)
        query = Self.part(CURLUPART_QUERY, of: handle)
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, flags: Int32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
