/// A way in which a resource differs from that of a plain, correct server.
///
/// A resource's behaviours apply in their order, and together if the combination makes sense. Each behaviour applies to
/// every request that it can apply to: one about ranges applies only to requests with a range, and one about the body
/// only if there is a body. ``times(_:)``, ``skippingFirst(_:)`` and ``on(_:)`` narrow this. A behaviour that responds
/// instead of the resource, such as ``status(_:retryAfter:fields:body:)``, hides later behaviours from that request.
package indirect enum Behaviour: Sendable {
    // MARK: End of the body

    /// Closes the connection after this many bytes of a longer body.
    case cutAfter(Int64)
    /// Closes the connection as ``cutAfter(_:)`` does, but with a reset (RST).
    case resetAfter(Int64)
    /// Sends no more bytes after this many, and keeps the connection open.
    case stallAfter(Int64)
    /// Waits after this many bytes until the gate is open.
    case holdAfter(Int64, Gate)
    /// Sends no byte of the resource from this offset on before the gate is open, whatever range was requested.
    /// Therefore a client that was too slow and asks again does not get more bytes.
    case holdFrom(Int64, Gate)

    // MARK: Speed of the body

    /// Limits the rate of the body, which is sent in pieces of about a fiftieth of a second.
    case throttle(bytesPerSecond: Int64)
    /// Sends the body byte by byte, or in pieces as small as the rate allows.
    case slowDrip(bytesPerSecond: Int64)

    // MARK: No response

    /// Reads the request and never responds.
    case stallHead
    /// Responds only once the gate is open.
    case holdHead(Gate)
    case closeBeforeHead
    case resetBeforeHead

    // MARK: Another response

    case status(Int, retryAfter: RetryAfter? = nil, fields: [HTTPField] = [], body: String = "")
    case redirect(to: String, status: Int = 302)
    /// Redirects to the same URL for ever.
    case redirectLoop(status: Int = 302)
    /// Redirects to the same URL this many times, with a counter in the query, and then responds.
    case redirectChain(Int, status: Int = 302)
    case requireBasic(user: String, password: String)
    case requireDigest(user: String, password: String, algorithm: DigestAlgorithm = .sha256)
    /// Responds with 503 while this many requests for the resource are already being answered.
    case connectionLimit(Int)

    // MARK: Ranges

    /// Sends 200 with the whole resource for every range.
    case ignoreRange
    /// Ignores the range if `If-Range` contains an entity tag, even the right one. Honours a date.
    case ignoreRangeIfETagIfRange
    /// Sends a 206 that starts at the block boundary before the requested offset, and declares that start.
    case earlyRange(blockSize: Int64)
    /// Sends a 206 that ends after this many bytes, and declares that end.
    case shortRange(Int64)
    case lyingRange(LyingRange)
    /// Sends 416 for every range.
    case refuseRange

    // MARK: Validators

    case weakETag
    case noETag
    case noLastModified
    case noValidators
    /// Sends another entity tag with every response, for the same content.
    case changingETagPerRequest
    /// Sends a `Date` equal to `Last-Modified`, which makes `Last-Modified` a weak validator.
    case lastModifiedEqualsDate
    /// Sends 206 for every request with `If-Range`, as if it always matched.
    case ignoreIfRange

    // MARK: Framing and fields

    case contentLengthTooLong(by: Int64)
    case contentLengthTooShort(by: Int64)
    /// Sends chunks. Without a last chunk, the connection is closed instead.
    case chunked(lastChunk: Bool = true)
    /// Sends neither a length nor chunks, so that the end of the connection ends the body.
    case closeDelimited
    /// Responds with HTTP/1.0 and closes the connection after the response.
    case http10
    /// Sends `Content-Encoding: gzip` with bytes that are not compressed.
    case gzipDespiteIdentity
    case garbageStatusLine(String = "ICY 200 OK\u{1}\u{2}")
    /// Sends a header field of this many bytes.
    case hugeHeader(Int)
    /// Sends header fields endlessly until the client disconnects.
    case endlessHeader
    /// Sends interim responses before the final one.
    case interimResponses([Int])
    /// Adds or replaces a field.
    case field(String, String)
    case contentDisposition(String)
    /// Sends `Repr-Digest` (RFC 9530) with SHA-256. If `right` is false, the digest is of another content.
    case reprDigest(right: Bool = true)
    /// Sends `Content-Digest` with SHA-256. If `right` is false, the digest is of another content.
    case contentDigest(right: Bool = true)

    // MARK: Later changes

    /// Replaces the resource after this many bytes of a body. Later requests get the new resource, and the running body
    /// stays the old one.
    case swapDuringTransfer(after: Int64, to: Resource)

    // MARK: Uploads

    /// Never sends `100 Continue`, but reads the body.
    case ignoreExpect
    /// Sends 417 to a request with `Expect`.
    case refuseExpect
    case cutUploadAfter(Int64)
    case resetUploadAfter(Int64)
    case stallUploadAfter(Int64)
    case throttleUpload(bytesPerSecond: Int64)

    // MARK: Scope

    case scoped(Scope, Behaviour)

    package struct Scope: Sendable {
        /// The number of requests to which the behaviour applies. Nil means all.
        package var times: Int?
        /// The number of requests that are skipped first.
        package var skipped = 0
        /// The methods to which the behaviour applies. Nil means all.
        package var methods: Set<String>?
    }

    package func times(_ count: Int) -> Behaviour { narrowed { $0.times = count } }

    /// Returns the behaviour without its effect on the first requests. Only requests to which the behaviour can apply
    /// count. For a behaviour about ranges, these are the requests with a range.
    package func skippingFirst(_ count: Int) -> Behaviour { narrowed { $0.skipped = count } }

    package func on(_ methods: String...) -> Behaviour { narrowed { $0.methods = Set(methods) } }

    package static func failFirst(_ count: Int, status: Int) -> Behaviour { .status(status).times(count) }

    private func narrowed(_ change: (inout Scope) -> Void) -> Behaviour {
        let (scope, behaviour) = unwrapped
        var narrower = scope
        change(&narrower)
        return .scoped(narrower, behaviour)
    }

    /// The behaviour itself and its scope.
    var unwrapped: (Scope, Behaviour) {
        guard case .scoped(let scope, let behaviour) = self else { return (Scope(), self) }
        return (scope, behaviour)
    }
}

package struct HTTPField: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

package enum RetryAfter: Sendable {
    case seconds(Int)
    /// The date this many seconds after the response.
    case dateIn(seconds: Int)
    case text(String)
}

package enum DigestAlgorithm: String, Sendable {
    case md5 = "MD5"
    case sha256 = "SHA-256"

    package func hash(_ text: String) -> String {
        switch self {
        case .md5: MD5.hash(Array(text.utf8)).hex
        case .sha256: SHA256.hash(Array(text.utf8)).hex
        }
    }
}

/// The ways in which a 206 is wrong.
package enum LyingRange: Sendable {
    /// `Content-Range` starts this many bytes after (or before) the body. The body is the requested range.
    case wrongStart(by: Int64)
    /// The complete length in `Content-Range` is wrong by this many bytes.
    case wrongTotal(by: Int64)
    /// `Content-Range` is the requested one, but the body starts this many bytes later (or earlier).
    case wrongBytes(by: Int64)
    case missingContentRange
    /// `Content-Range` cannot be parsed.
    case garbage
    /// The response is a `multipart/byteranges` with one part.
    case multipart
}
