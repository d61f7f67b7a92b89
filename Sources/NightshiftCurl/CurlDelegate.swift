import NightshiftAPI

/// The receiver of an exchange's events. It is called on the loop's thread, in order, and must not block.
///
/// None of the calls may wait for anything that only the loop can bring about.
package protocol CurlDelegate: AnyObject, Sendable {
    /// A 1xx response has come (RFC 9110, section 15.2).
    func received(interim head: CurlHead)

    /// The final response's head. Responses that libcurl itself answered (401, 407, 417) are not reported.
    func received(head: CurlHead)

    /// The next bytes of the body. What was not taken comes again, from the same byte on, perhaps cut differently.
    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer

    /// Whether the rest of the body may come through ``received(from:atMost:)``, where that is possible. Asked after a piece
    /// was taken, the response's length being known.
    func takesRest(_ bytes: Int64) -> Bool

    /// Bytes of the body that wait in the socket, to be moved by ``CurlSocketBody/move(to:at:atMost:)``, perhaps in part.
    /// Comes again as long as there are more and the answer is ``CurlBodyAnswer/taken``.
    func received(from body: CurlSocketBody, atMost count: Int) -> CurlBodyAnswer

    /// Bytes of the request's body handed to libcurl so far; less than before when they have to be sent again.
    func sent(_ bytes: Int64)

    /// Exactly once, last.
    func ended(_ end: CurlEnd)
}

extension CurlDelegate {
    package func takesRest(_ bytes: Int64) -> Bool { false }

    package func received(from body: CurlSocketBody, atMost count: Int) -> CurlBodyAnswer { .stop }
}

package enum CurlBodyAnswer: Sendable {
    case taken
    /// No more, and these bytes again, until ``CurlExchange/resume()``.
    case pause
    /// The exchange ends with ``CurlEnd/code`` 23 (`CURLE_WRITE_ERROR`).
    case stop
}

package struct CurlHead: Hashable, Sendable {
    package var status: Int
    /// "1.0", "1.1", "2" or "3".
    package var version: String
    package var fields: [CurlField]

    package init(status: Int, version: String, fields: [CurlField]) {
        self.status = status
        self.version = version
        self.fields = fields
    }

    /// Where the body ends.
    func framing(for method: String) -> ResponseFraming {
        ResponseFraming(
            status: status, method: method, httpVersion: version, lengths: values("content-length"),
            codings: values("transfer-encoding"))
    }

    /// Bytes of a body that comes as it is on the connection, its length before it; nil for any other.
    func plainLength(for method: String) -> Int64? {
        guard version.hasPrefix("1"), method != "HEAD", values("transfer-encoding").isEmpty,
            values("content-length").count == 1, case .length(let length) = framing(for: method)
        else { return nil }
        return length
    }

    /// The length of a body that libcurl reads to the end of the connection: it drops a length as soon as there is a
    /// `Transfer-Encoding`, even one that changes nothing.
    func ignoredLength(for method: String) -> Int64? {
        guard !values("transfer-encoding").isEmpty, case .length(let length) = framing(for: method) else { return nil }
        return length
    }

    private func values(_ lowercasedName: String) -> [String] {
        fields.filter { $0.isNamed(lowercasedName) }.map(\.value)
    }

    /// A transfer coding other than the framing that every client understands (RFC 9112, section 7). `TE` is never sent, so the server
    /// must not use one. A name of a known coding, or "unknown": the value itself is the server's text.
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

/// How an exchange ended.
package struct CurlEnd: Error, Hashable, Sendable {
    /// libcurl's `CURLcode`; 0 is success.
    package var code: Int32
    /// libcurl's words for what went wrong, the same for the same fault: without how long it took. May name hosts and
    /// files, never a credential.
    package var message: String
    /// The `errno` of the last failed connect, or of reading the file to send; 0 where there was none, also when that
    /// file ended early.
    package var systemError: Int32
    /// How far it came.
    package var phase: CurlPhase
    /// Ended by ``CurlExchange/cancel()`` or ``CurlLoop/shutdown()``.
    package var wasCancelled: Bool
    /// Set where a proxy wanted a credential before it made a tunnel.
    package var refusedTunnel: CurlRefusedTunnel?
    /// Whether a proxy was reached and told that it could not reach the server, or does not want to.
    package var proxyRefused = false
    /// Whether the server's HTTP/2 did not get as far as a response, or libcurl has gone back to HTTP/1.1 for one
    /// (`HTTP_1_1_REQUIRED`, RFC 9113, section 7): the origin is better asked with HTTP/1.1.
    package var wantsHTTP1 = false
    /// OpenSSL's result of the check of the server's certificate (`X509_V_ERR_*`), where that failed; 0 where libcurl itself objects.
    package var verification = 0
    /// The same of a proxy's certificate.
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

/// A proxy's 407 to CONNECT, as far as libcurl tells.
package struct CurlRefusedTunnel: Hashable, Sendable {
    package var offersBasic: Bool
    package var offersDigest: Bool

    package init(offersBasic: Bool, offersDigest: Bool) {
        self.offersBasic = offersBasic
        self.offersDigest = offersDigest
    }
}

/// How far an exchange has come, in order.
package enum CurlPhase: Int, Comparable, Sendable {
    case resolving
    case connecting
    /// TLS, or the proxy's part.
    case securing
    case sending
    case waitingForResponse
    case receiving

    package static func < (left: CurlPhase, right: CurlPhase) -> Bool {
        left.rawValue < right.rawValue
    }
}
