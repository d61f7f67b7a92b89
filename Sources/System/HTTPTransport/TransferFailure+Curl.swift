import CNightshift
import Glibc
import NightshiftAPI
import NightshiftCurl

extension TransferFailure {
    /// Describes libcurl's result for display. The description contains no credentials and no query, because a query
    /// may contain credentials.
    ///
    /// - Parameter proxyVariable: The environment variable that named the proxy.
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
        switch CurlMeaning(code) ?? .fault {
        case .noAddress:
            // The message of libcurl usually repeats this sentence.
            let more = words.hasPrefix("Could not resolve host") ? "" : " \(words)"
            self.init(.cannotResolveHost, "The address of \(host) could not be found.\(more)")
        case .noProxy:
            self.init(.proxyFailure, "The proxy for \(host) cannot be used. \(words)")
        case .noConnection where end.systemError == EMFILE || end.systemError == ENFILE:
            // This process caused the failure: neither the host nor the proxy is at fault.
            self.init(
                .inputOutput, "The service could not connect to \(host), because it has no file descriptors left.")
        case .noConnection where !(request.proxy ?? "").isEmpty:
            self.init(.proxyFailure, "Could not connect to the proxy for \(host). \(words)")
        case .noConnection:
            let reason = Self.reason(end.systemError).map { ": \($0)." } ?? ". \(words)"
            self.init(.cannotConnect, "No connection to \(Self.hostWithPort(request.url))\(reason)")
        case .silence:
            self.init(.idleTimeout, Self.timeoutSentence(end.phase, host, request.idleTimeout))
        case .cutOff:
            self.init(.truncated, "\(host) closed the connection before the response was complete. \(words)")
        case .noAnswer:
            self.init(.connectionLost, "\(host) closed the connection without a response.")
        case .connectionLost:
            self = Self.lostConnection(end, host, words)
        case .noTLS where words.contains("wrong version number"):
            // OpenSSL's message for bytes that are no TLS record.
            self.init(
                .tlsFailure, "\(host) did not answer with TLS. The port may speak plain http instead of https. \(words)"
            )
        case .noTLS:
            self.init(.tlsFailure, "A secure connection to \(host) could not be established. \(words)")
        case .certificate:
            self = Self.certificateFailure(end, host, words)
        case .trustedCertificates:
            // If the request names the file, the transfer fails at once, so that the mistake is reported. If the file
            // is the system's, the transfer is retried, because the file is missing for a short time while the system
            // is updated.
            let path = request.certificateAuthority
            self.init(
                path == nil ? .inputOutput : .untrustedServer,
                "The trusted certificates could not be read from \(path ?? "the system's certificates"). \(words)")
        case .clientCertificate:
            let path = request.clientCertificate ?? "its file"
            self.init(.clientCertificate, "The client certificate could not be used from \(path). \(words)")
        case .malformedURL:
            self.init(.badURL, "The request cannot be made. \(words)")
        case .credentialInURL:
            self.init(.badURL, "The URL contains a user name or a password. Give them separately.")
        case .unsupportedScheme where end.phase < .sending:
            self.init(.unsupportedURL, "The URL must begin with http:// or https://. \(words)")
        case .unsupportedScheme, .notHTTP:
            let isKnown = code.rawValue < CURL_LAST.rawValue
            self.init(
                .protocolError,
                isKnown
                    ? "\(host) violated the HTTP protocol. \(words)"
                    : "The exchange with \(host) failed (libcurl error \(end.code)). \(words)")
        case .memory where code == CURLE_OUT_OF_MEMORY && end.phase == .waitingForResponse:
            self.init(.protocolError, "\(host) sent an endless header line, or the service ran out of memory.")
        case .reading where end.systemError == 0:
            self.init(.sourceChanged, "The file became shorter while it was being sent.")
        case .reading, .writing, .memory:
            self.init(.inputOutput, words)
        case .fault:
            self.init(
                .internalFault,
                "This system's libcurl does not support something that this transfer needs (error \(end.code)). \(words)"
            )
        }
    }

    /// Returns the failure for a rejected certificate, of the server or of a proxy.
    private static func certificateFailure(_ end: CurlEnd, _ host: String, _ words: String) -> TransferFailure {
        switch CertificateFlaw(end.verification == 0 ? end.proxyVerification : end.verification) {
        case .outOfDate:
            TransferFailure(.certificateOutOfDate, "The certificate of \(host) is not valid at this time. \(words)")
        case .unchecked:
            TransferFailure(.inputOutput, "The certificate of \(host) could not be checked. \(words)")
        case .untrusted:
            TransferFailure(
                .untrustedServer,
                "The certificate of \(host) is not trusted. \(words) "
                    + "If you trust its authority, give the authority's certificate as the CA file.")
        }
    }

    /// Returns the failure if the server rejects or demands a client certificate. With TLS 1.3, the server reports this
    /// only after the handshake.
    private static func certificateAlert(_ words: String, _ code: CURLcode, _ host: String) -> TransferFailure? {
        guard [CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR].contains(code) else { return nil }
        if words.contains("alert certificate required") {
            return TransferFailure(.clientCertificate, "\(host) asks for a client certificate.")
        }
        if words.contains("alert certificate expired") {
            // The next attempt reads the certificate file again.
            return TransferFailure(.certificateOutOfDate, "\(host) reports that the client certificate has expired.")
        }
        let refusals = [
            "bad certificate", "certificate revoked", "certificate unknown", "unknown ca",
        ]
        for alert in refusals where words.contains("alert \(alert)") {
            return TransferFailure(.clientCertificate, "\(host) does not accept the client certificate: \(alert).")
        }
        return nil
    }

    private static func lostConnection(_ end: CurlEnd, _ host: String, _ words: String) -> TransferFailure {
        if end.phase <= .securing, words.contains("proxy") || words.contains("CONNECT") {
            return TransferFailure(.proxyFailure, "The proxy for \(host) refused the connection. \(words)")
        }
        if end.phase == .receiving, words.contains("unexpected eof") {
            // With TLS, the server announces the end of a body without a length. A close without that announcement
            // means that the connection was cut (RFC 8446, section 6.1).
            return TransferFailure(
                .truncated, "The secure connection with \(host) was cut before the response was complete.")
        }
        let reason = reason(end.systemError).map { words.contains($0) ? "" : " (\($0))" } ?? ""
        return TransferFailure(.connectionLost, "The connection with \(host) was lost. \(words)\(reason)")
    }

    private static func timeoutSentence(_ phase: CurlPhase, _ host: String, _ timeout: Double?) -> String {
        let activity =
            switch phase {
            case .resolving: "while its address was looked up"
            case .connecting: "while connecting"
            case .securing: "while the secure connection was being established"
            case .sending: "while sending"
            case .waitingForResponse: "while waiting for its response"
            case .receiving: "in the middle of its response"
            }
        let seconds =
            timeout.map { $0 == $0.rounded() && abs($0) < 1e9 ? "\(Int(saturating: $0))" : "\($0)" } ?? "too many"
        return "No data arrived from \(host) for \(seconds) seconds \(activity)."
    }

    /// Returns the system's message for an error; nil if no error occurred.
    private static func reason(_ error: Int32) -> String? {
        error == 0 ? nil : String(cString: strerror(error))
    }

    /// Returns the host and port of a URL for display in messages.
    private static func host(_ url: String) -> String {
        guard let start = url.firstRange(of: "://") else { return "the server" }
        let authority = url[start.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        return host.isEmpty ? "the server" : String(host)
    }

    /// Returns the host and port of a URL for display in messages, also if the port is the default of the scheme.
    private static func hostWithPort(_ url: String) -> String {
        let host = host(url)
        let port = host.lastIndex(of: "]").map { host[$0...] } ?? host[...]
        guard url.contains("://"), !port.contains(":") else { return host }
        return host + (url.prefix(8).lowercased() == "https://" ? ":443" : ":80")
    }

    /// Removes secrets from libcurl's messages. Some messages quote URLs and proxies. Only the scheme and host of these
    /// are kept.
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
