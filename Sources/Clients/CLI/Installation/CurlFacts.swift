import CNightshift

/// The features of the libcurl that is installed on this system.
struct CurlFacts: Hashable, Sendable {
    var version: String
    var tls: String?
    var hasHTTP2: Bool
    var hasIDN: Bool

    static var ofThisProcess: CurlFacts {
        // Even the oldest version of the structure contains every value that is read here.
        guard let information = curl_version_info(CURLVERSION_FIRST) else {
            return CurlFacts(version: "unknown", tls: nil, hasHTTP2: false, hasIDN: false)
        }
        let facts = information.pointee
        return CurlFacts(
            version: facts.version.map { String(cString: $0) } ?? "unknown",
            tls: facts.ssl_version.map { String(cString: $0) },
            hasHTTP2: facts.features & CURL_VERSION_HTTP2 != 0,
            hasIDN: facts.features & CURL_VERSION_IDN != 0)
    }

    /// The path of the certificates that libcurl trusts by default, or nil if libcurl has none or does not report the
    /// path.
    static var certificates: String? {
        guard let facts = curl_version_info(CURLVERSION_SEVENTH)?.pointee,
            facts.age.rawValue >= CURLVERSION_SEVENTH.rawValue
        else { return nil }
        return facts.cainfo.map { String(cString: $0) }
    }

    var finding: Finding {
        guard let tls else {
            return .fail("libcurl", "\(version) without TLS", advice: "Install a libcurl with TLS.")
        }
        let words = "\(version), \(tls), \(hasHTTP2 ? "HTTP/2" : "no HTTP/2"), \(hasIDN ? "IDN" : "no IDN")"
        guard hasHTTP2 else {
            return .warn("libcurl", words, advice: "Transfers use HTTP/1.1; a libcurl with nghttp2 brings HTTP/2.")
        }
        return .ok("libcurl", words)
    }
}
