import NightshiftAPI

/// The receiver of an exchange's events. It is called on the loop's thread, in order, and must not block. In
/// particular, a method must not wait for an event that only the loop can cause.
package protocol CurlDelegate: AnyObject, Sendable {
    /// Receives a 1xx response (RFC 9110, section 15.2).
    func received(interim head: CurlHead)

    /// Receives the head of the final response. Responses that libcurl answers itself (401, 407, 417) are not reported.
    func received(head: CurlHead)

    /// Receives the next bytes of the body. If the delegate does not accept the bytes, they are delivered again from
    /// the first of them on, possibly in pieces of another size.
    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer

    /// Receives that no bytes wait for the exchange now. The delegate writes what it holds in memory.
    ///
    /// - Returns: ``CurlBodyAnswer/taken``, or ``CurlBodyAnswer/stop`` to end the exchange.
    func settle() -> CurlBodyAnswer

    /// Returns whether the rest of the body may be delivered by ``received(from:atMost:)``, if possible. This method is
    /// called after a piece was accepted, if the response's length is known.
    func takesRest(_ bytes: Int64) -> Bool

    /// Receives bytes of the body that wait in the socket. The delegate moves some or all of them with
    /// ``CurlSocketBody/move(to:at:atMost:)``. This method is called again as long as more bytes wait and its result is
    /// ``CurlBodyAnswer/taken``.
    func received(from body: CurlSocketBody, atMost count: Int) -> CurlBodyAnswer

    /// Receives the number of body bytes that were passed to libcurl so far. The number decreases if bytes have to be
    /// sent again.
    func sent(_ bytes: Int64)

    /// Handles the end of the exchange. This is the last call, and it is made exactly once.
    func ended(_ end: CurlEnd)
}

extension CurlDelegate {
    package func settle() -> CurlBodyAnswer { .taken }

    package func takesRest(_ bytes: Int64) -> Bool { false }

    package func received(from body: CurlSocketBody, atMost count: Int) -> CurlBodyAnswer { .stop }
}

package enum CurlBodyAnswer: Sendable {
    case taken
    /// The bytes were accepted, and the delegate holds some of them in memory until ``CurlDelegate/settle()`` or the
    /// end of the exchange.
    case held
    /// An answer that pauses the exchange until ``CurlExchange/resume()``. The same bytes are then delivered again.
    case pause
    /// An answer that ends the exchange with ``CurlEnd/code`` 23 (`CURLE_WRITE_ERROR`).
    case stop
}

package struct CurlHead: Hashable, Sendable {
    package var status: Int
    /// The HTTP version: "1.0", "1.1", "2" or "3".
    package var version: String
    package var fields: [CurlField]

    package init(status: Int, version: String, fields: [CurlField]) {
        self.status = status
        self.version = version
        self.fields = fields
    }

    /// Returns the framing, which determines the end of the body.
    func framing(for method: String) -> ResponseFraming {
        ResponseFraming(
            status: status, method: method, httpVersion: version, lengths: values("content-length"),
            codings: values("transfer-encoding"))
    }

    /// Returns the length of a body that is sent unencoded with a known length. Returns nil for any other body.
    func plainLength(for method: String) -> Int64? {
        guard version.hasPrefix("1"), method != "HEAD", values("transfer-encoding").isEmpty,
            values("content-length").count == 1, case .length(let length) = framing(for: method)
        else { return nil }
        return length
    }

    /// Returns the announced length of a body that libcurl reads up to the end of the connection. libcurl ignores the
    /// length if the response has a `Transfer-Encoding`, even one that changes nothing.
    func ignoredLength(for method: String) -> Int64? {
        guard !values("transfer-encoding").isEmpty, case .length(let length) = framing(for: method) else { return nil }
        return length
    }

    private func values(_ lowercasedName: String) -> [String] {
        fields.filter { $0.isNamed(lowercasedName) }.map(\.value)
    }

    /// The name of a transfer coding that was not requested. Every client understands chunked (RFC 9112, section 7).
    /// `TE` is never sent, so the server must not use another coding. The name is that of a known coding, or "unknown",
    /// because the field's value is text from the server.
    var unrequestedTransferCoding: String? {
        let codings = values("transfer-encoding").flatMap { $0.split(separator: ",") }
            .map { String($0).trimmedOfBlanks.lowercased() }
        guard let coding = codings.first(where: { !["", "chunked", "identity"].contains($0) }) else { return nil }
        return Self.knownCodings.contains(coding) ? coding : "unknown"
    }

    private static let knownCodings: Set<String> = [
        "br", "compress", "deflate", "gzip", "x-compress", "x-gzip", "zstd",
    ]
}

/// The end of an exchange: its result, and details of a failure.
package struct CurlEnd: Error, Hashable, Sendable {
    /// The `CURLcode` of libcurl. 0 means success.
    package var code: Int32
    /// The message of libcurl, without durations, so that the same failure has the same message. It may name hosts and
    /// files, but never contains a credential.
    package var message: String
    /// The `errno` of the last failed attempt to connect, or of reading the file to send. It is 0 if neither failed,
    /// and also if that file ended early.
    package var systemError: Int32
    /// The phase that the exchange reached.
    package var phase: CurlPhase
    /// Whether the exchange was ended by ``CurlExchange/cancel()`` or ``CurlLoop/shutdown()``.
    package var wasCancelled: Bool
    /// The proxy's demand for a credential. Nil if the proxy has not refused a tunnel for that reason.
    package var refusedTunnel: CurlRefusedTunnel?
    /// Whether a proxy was reached and reported that it cannot or will not reach the server.
    package var proxyRefused = false
    /// Whether the next request to the origin should use HTTP/1.1. This is the case if the server's HTTP/2 failed
    /// before a response, or libcurl fell back to HTTP/1.1 (`HTTP_1_1_REQUIRED`, RFC 9113, section 7).
    package var wantsHTTP1 = false
    /// The result of OpenSSL's check of the server's certificate (`X509_V_ERR_*`). It is 0 if the check succeeded or
    /// libcurl itself rejects the certificate.
    package var verification = 0
    /// The result of OpenSSL's check of a proxy's certificate, with the same values as ``verification``.
    package var proxyVerification = 0

    package init(
        code: Int32, message: String = "", systemError: Int32 = 0, phase: CurlPhase = .resolving,
        wasCancelled: Bool = false, refusedTunnel: CurlRefusedTunnel? = nil
    ) {
        self.code = code
        self.message = message
        self.systemError = systemError
        self.phase = phase
        self.wasCancelled = wasCancelled
        self.refusedTunnel = refusedTunnel
    }
}

/// The 407 response of a proxy to CONNECT, as far as libcurl reports it.
package struct CurlRefusedTunnel: Hashable, Sendable {
    package var offersBasic: Bool
    package var offersDigest: Bool

    package init(offersBasic: Bool, offersDigest: Bool) {
        self.offersBasic = offersBasic
        self.offersDigest = offersDigest
    }
}

/// The phases of an exchange, in order.
package enum CurlPhase: Int, Comparable, Sendable {
    case resolving
    case connecting
    /// The phase of the TLS handshake, or of the proxy's connection to the server.
    case securing
    case sending
    case waitingForResponse
    case receiving

    package static func < (left: CurlPhase, right: CurlPhase) -> Bool {
        left.rawValue < right.rawValue
    }
}
