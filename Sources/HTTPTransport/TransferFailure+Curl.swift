import CNightshift
import Glibc
import NightshiftAPI
import NightshiftCurl

extension TransferFailure {
    /// What libcurl's result means for a person. Holds no credential and no query, which may hold one.
    ///
    /// - Parameter proxyVariable: the variable that has named the proxy.
    init(_ end: CurlEnd, of request: CurlRequest, proxyVariable: String? = nil) {
        self.init(end, of: request)
        if code == .proxyFailure, let proxyVariable { message += " The variable \(proxyVariable) names this proxy." }
    }

    private init(_ end: CurlEnd, of request: CurlRequest) {
        let host = Self.host(request.url)
        let words = Self.withoutSecrets(end.message)
        let code = CURLcode(UInt32(bitPattern: end.code))
        if let alert = Self.certificateAlert(end.message, code, host) {
            self = alert
            return
        }
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            // Mostly the same once more.
            let more = words.hasPrefix("Could not resolve host") ? "" : " \(words)"
            self.init(.cannotResolveHost, "The address of \(host) could not be found.\(more)")
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY:
            self.init(.proxyFailure, "The proxy on the way to \(host) cannot be used. \(words)")
        case CURLE_COULDNT_CONNECT where end.systemError == EMFILE || end.systemError == ENFILE:
            // The fault of this process: neither the host nor the proxy is to blame.
            self.init(.inputOutput, "There are no file descriptors left for a connection with \(host).")
        case CURLE_COULDNT_CONNECT where !(request.proxy ?? "").isEmpty:
            self.init(.proxyFailure, "No connection to the proxy on the way to \(host). \(words)")
        case CURLE_COULDNT_CONNECT:
            let reason = Self.reason(end.systemError).map { ": \($0)." } ?? ". \(words)"
            self.init(.cannotConnect, "No connection to \(host)\(reason)")
        case CURLE_OPERATION_TIMEDOUT:
            self.init(.idleTimeout, Self.timeoutSentence(end.phase, host, request.idleTimeout))
        case CURLE_PARTIAL_FILE:
            self.init(.truncated, "\(host) closed the connection before the response was whole. \(words)")
        case CURLE_GOT_NOTHING:
            self.init(.connectionLost, "\(host) closed the connection without an answer.")
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND:
            self = Self.lostConnection(end, host, words)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
            CURLE_USE_SSL_FAILED:
            self.init(.tlsFailure, "No secure connection with \(host). \(words)")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self.init(
                .untrustedServer,
                "The certificate of \(host) is not trusted. \(words) "
                    + "If its authority is yours, give that authority's certificate as the CA file.")
        case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE:
            let path = request.certificateAuthority ?? "the system's certificates"
            self.init(.untrustedServer, "The trusted certificates could not be read from \(path). \(words)")
        case CURLE_SSL_CERTPROBLEM:
            let path = request.clientCertificate ?? "its file"
            self.init(.clientCertificate, "The client certificate could not be used from \(path). \(words)")
        case CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT:
            self.init(.badURL, "The request cannot be made. \(words)")
        case CURLE_LOGIN_DENIED:
            self.init(.badURL, "The address holds a user name or a password; give them apart from it.")
        case CURLE_UNSUPPORTED_PROTOCOL where end.phase < .sending:
            self.init(.unsupportedURL, "Only http and https addresses can be transferred. \(words)")
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_AUTH_ERROR,
            CURLE_BAD_CONTENT_ENCODING:
            self.init(.protocolError, "\(host) does not keep to HTTP. \(words)")
        case CURLE_OUT_OF_MEMORY where end.phase == .waitingForResponse:
            self.init(.protocolError, "\(host) sent a header line without end, or memory ran out.")
        case CURLE_READ_ERROR where end.systemError == 0:
            self.init(.sourceChanged, "The file to send became shorter while it was sent.")
        case CURLE_READ_ERROR, CURLE_WRITE_ERROR, CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
            self.init(.inputOutput, words)
        default:
            self.init(.protocolError, "The exchange with \(host) failed (libcurl error \(end.code)). \(words)")
        }
    }

    /// The server's refusal of, or demand for, a client certificate; TLS 1.3 says it only after the handshake.
    private static func certificateAlert(_ words: String, _ code: CURLcode, _ host: String) -> TransferFailure? {
        guard [CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR].contains(code) else { return nil }
        if words.contains("alert certificate required") {
            return TransferFailure(.clientCertificate, "\(host) asks for a client certificate.")
        }
        let refusals = [
            "bad certificate", "certificate expired", "certificate revoked", "certificate unknown", "unknown ca",
        ]
        for alert in refusals where words.contains("alert \(alert)") {
            return TransferFailure(.clientCertificate, "\(host) does not accept the client certificate: \(alert).")
        }
        return nil
    }

    private static func lostConnection(_ end: CurlEnd, _ host: String, _ words: String) -> TransferFailure {
        if end.phase <= .securing, words.contains("proxy") || words.contains("CONNECT") {
            return TransferFailure(.proxyFailure, "The proxy on the way to \(host) refused. \(words)")
        }
        if end.phase == .receiving, words.contains("unexpected eof") {
            // TLS says when a body without length is over; silence means that somebody cut it (RFC 8446, section 6.1).
            return TransferFailure(
                .truncated, "The secure connection with \(host) was cut off before the response was whole.")
        }
        let reason = reason(end.systemError).map { words.contains($0) ? "" : " (\($0))" } ?? ""
        return TransferFailure(.connectionLost, "The connection with \(host) was lost. \(words)\(reason)")
    }

    private static func timeoutSentence(_ phase: CurlPhase, _ host: String, _ timeout: Double?) -> String {
        let activity =
            switch phase {
            case .resolving: "while its address was looked up"
            case .connecting: "while connecting"
            case .securing: "while the secure connection was set up"
            case .sending: "while sending"
            case .waitingForResponse: "while waiting for its response"
            case .receiving: "in the middle of its response"
            }
        let seconds =
            timeout.map { $0 == $0.rounded() && abs($0) < 1e9 ? "\(Int(saturating: $0))" : "\($0)" } ?? "too many"
        return "Nothing came from \(host) for \(seconds) seconds \(activity)."
    }

    /// The system's words for an error; nil where there was none.
    private static func reason(_ error: Int32) -> String? {
        error == 0 ? nil : String(cString: strerror(error))
    }

    /// Host and port of a URL, for people.
    private static func host(_ url: String) -> String {
        guard let start = url.firstRange(of: "://") else { return "the server" }
        let authority = url[start.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        return host.isEmpty ? "the server" : String(host)
    }

    /// libcurl quotes URLs and proxies in a few messages: only their scheme and host are kept.
    private static func withoutSecrets(_ words: String) -> String {
        let clean = words.split(separator: " ").map { word in
            guard word.contains("://") else { return String(word) }
            return host(String(word)).trimmingQuotes
        }
        let text = clean.joined(separator: " ")
        return text.isEmpty || text.hasSuffix(".") ? text : text + "."
    }
}

extension String {
    fileprivate var trimmingQuotes: String {
        var text = self[...]
        while let last = text.last, "'\",.;".contains(last) { text.removeLast() }
        return String(text)
    }
}
