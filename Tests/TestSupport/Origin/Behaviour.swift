/// One way in which a resource differs from that of a plain, correct server.
///
/// A resource's behaviours apply in their order, and together if the combination makes sense. Each applies to every
/// request that it can apply to: one about ranges only to requests with a range, one about the body only if there is a
/// body. ``times(_:)``, ``skippingFirst(_:)`` and ``on(_:)`` narrow this. A behaviour that responds instead of the
/// resource, such as ``status(_:retryAfter:fields:body:)``, hides later behaviours from that request.
package indirect enum Behaviour: Sendable {
    // MARK: How the body ends

    /// Closes the connection after this many bytes of a longer body.
    case cutAfter(Int64)
    /// Like ``cutAfter(_:)``, but with a reset (RST).
    case resetAfter(Int64)
    /// Sends nothing more after this many bytes and keeps the connection open.
    case stallAfter(Int64)
    /// After this many bytes, continues only once the gate is open.
    case holdAfter(Int64, Gate)
    /// Sends no byte of the resource from this offset on before the gate is open, whatever range was requested. A
    /// client that was too slow and asks again therefore gets no further.
    case holdFrom(Int64, Gate)

    // MARK: Speed of the body

    /// Sends the body in pieces of about a fiftieth of a second.
    case throttle(bytesPerSecond: Int64)
    /// Sends the body byte by byte, or in pieces as small as the rate allows.
    case slowDrip(bytesPerSecond: Int64)

    // MARK: Instead of a response

    /// Reads the request and never responds.
    case stallHead
    /// Responds only once the gate is open.
    case holdHead(Gate)
    case closeBeforeHead
    case resetBeforeHead

    // MARK: Another response

    case status(Int, retryAfter: RetryAfter? = nil, fields: [HTTPField] = [], body: String = "")
    case redirect(to: String, status: Int = 302)
    /// Redirects to itself for ever.
    case redirectLoop(status: Int = 302)
    /// Redirects to itself this many times, with a counter in the query, and then responds.
    case redirectChain(Int, status: Int = 302)
    case requireBasic(user: String, password: String)
    case requireDigest(user: String, password: String, algorithm: DigestAlgorithm = .sha256)
    /// Responds with 503 while this many requests for the resource are already being answered.
    case connectionLimit(Int)

    // MARK: Ranges

    /// Sends 200 with the whole resource, whatever was requested.
    case ignoreRange
    /// Ignores the range when `If-Range` holds an entity tag, even the right one; honours a date.
    case ignoreRangeIfETagIfRange
    /// Sends a 206 that starts at the block boundary before the requested offset, and says so.
    case earlyRange(blockSize: Int64)
    /// Sends a 206 that ends after this many bytes, and says so.
    case shortRange(Int64)
    case lyingRange(LyingRange)
    /// Sends 416 to every range.
    case refuseRange

    // MARK: Validators

    case weakETag
    case noETag
    case noLastModified
    case noValidators
    /// Sends another entity tag with every response, for the same content.
    case changingETagPerRequest
    /// Sends a `Date` equal to `Last-Modified`, which makes the latter weak.
    case lastModifiedEqualsDate
    /// Sends 206 for every request with `If-Range`, as if it always matched.
    case ignoreIfRange

    // MARK: Framing and fields

    case contentLengthTooLong(by: Int64)
    case contentLengthTooShort(by: Int64)
    /// Sends chunks. Without a last chunk, the connection is closed instead.
    case chunked(lastChunk: Bool = true)
    /// Sends neither a length nor chunks: the end of the connection ends the body.
    case closeDelimited
    /// Responds with HTTP/1.0 and closes the connection after the response.
    case http10
    /// Sends `Content-Encoding: gzip` with bytes that are not compressed.
    case gzipDespiteIdentity
    case garbageStatusLine(String = "ICY 200 OK\u{1}\u{2}")
    /// Sends a header field of this many bytes.
    case hugeHeader(Int)
    /// Sends header fields without end, until the client disconnects.
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

    // MARK: Over time

    /// After this many bytes of a body, later requests get another resource. The running body stays the old one.
    case swapDuringTransfer(after: Int64, to: Resource)

    // MARK: Uploads

    /// Never sends `100 Continue`; reads the body all the same.
    case ignoreExpect
    /// 417 to `Expect`.
    case refuseExpect
    case cutUploadAfter(Int64)
    case resetUploadAfter(Int64)
    case stallUploadAfter(Int64)
    case throttleUpload(bytesPerSecond: Int64)

    // MARK: Scope

    case scoped(Scope, Behaviour)

    package struct Scope: Sendable {
        /// The number of requests to which the behaviour applies; nil means all.
        package var times: Int?
        /// The number of requests that are skipped first.
        package var skipped = 0
        /// The methods to which the behaviour applies; nil means all.
        package var methods: Set<String>?
    }

    package func times(_ count: Int) -> Behaviour { narrowed { $0.times = count } }

    /// Skips the first requests. Only requests to which the behaviour can apply count: for one about ranges, only
    /// requests with a range.
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
    /// A date this many seconds after the response.
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

/// Ways in which a 206 is wrong.
package enum LyingRange: Sendable {
    /// `Content-Range` starts this many bytes after (or before) the body, which is the requested one.
    case wrongStart(by: Int64)
    /// The complete length in `Content-Range` is wrong by this many bytes.
    case wrongTotal(by: Int64)
    /// `Content-Range` is the requested one; the body starts this many bytes later (or earlier).
    case wrongBytes(by: Int64)
    case missingContentRange
    /// An unparsable `Content-Range`.
    case garbage
    /// `multipart/byteranges` with one part.
    case multipart
}
