/// One way in which a resource does not behave like that of a plain, correct server.
///
/// A resource's behaviours apply in their order, and together as far as they make sense together. Each applies to every
/// request that it can apply to (one about ranges only to requests with a range, one about the body only where there
/// is one), unless ``times(_:)``, ``skippingFirst(_:)`` or ``on(_:)`` narrow it. Those that answer in place of the
/// resource, such as ``status(_:retryAfter:fields:body:)``, hide the behaviours behind them from that request.
package indirect enum Behaviour: Sendable {
    // MARK: How the body ends

    /// Closes the connection after so many bytes of a body that is longer.
    case cutAfter(Int64)
    /// As ``cutAfter(_:)``, with a reset (RST).
    case resetAfter(Int64)
    /// Sends nothing more after so many bytes and keeps the connection open.
    case stallAfter(Int64)
    /// Goes on after so many bytes only once the gate is open.
    case holdAfter(Int64, Gate)
    /// Sends nobody what lies behind so many bytes of the resource, whatever range was asked for, before the gate is open: one who
    /// was too slow and asks again gets no further.
    case holdFrom(Int64, Gate)

    // MARK: Speed of the body

    /// In pieces of about a fiftieth of a second.
    case throttle(bytesPerSecond: Int64)
    /// Byte by byte, or in as small pieces as the rate allows.
    case slowDrip(bytesPerSecond: Int64)

    // MARK: Instead of a response

    /// Reads the request and never answers.
    case stallHead
    /// Answers only once the gate is open.
    case holdHead(Gate)
    case closeBeforeHead
    case resetBeforeHead

    // MARK: Another response

    case status(Int, retryAfter: RetryAfter? = nil, fields: [HTTPField] = [], body: String = "")
    case redirect(to: String, status: Int = 302)
    /// Redirects to itself for ever.
    case redirectLoop(status: Int = 302)
    /// Redirects to itself with a counting query so many times, then answers.
    case redirectChain(Int, status: Int = 302)
    case requireBasic(user: String, password: String)
    case requireDigest(user: String, password: String, algorithm: DigestAlgorithm = .sha256)
    /// 503 while so many requests for this resource are already being answered.
    case connectionLimit(Int)

    // MARK: Ranges

    /// 200 with everything, whatever was asked.
    case ignoreRange
    /// Ignores the range when `If-Range` holds an entity tag, even the right one; honours a date.
    case ignoreRangeIfETagIfRange
    /// 206 that starts at the block boundary before the asked offset, and says so.
    case earlyRange(blockSize: Int64)
    /// 206 that ends after so many bytes, and says so.
    case shortRange(Int64)
    case lyingRange(LyingRange)
    /// 416 to every range.
    case refuseRange

    // MARK: Validators

    case weakETag
    case noETag
    case noLastModified
    case noValidators
    /// Another entity tag with every response, for the same content.
    case changingETagPerRequest
    /// `Date` equal to `Last-Modified`, which makes the latter weak.
    case lastModifiedEqualsDate
    /// 206 whenever `If-Range` is there, as if it always matched.
    case ignoreIfRange

    // MARK: Framing and fields

    case contentLengthTooLong(by: Int64)
    case contentLengthTooShort(by: Int64)
    /// Without a last chunk, the connection is closed where it should come.
    case chunked(lastChunk: Bool = true)
    /// Neither length nor chunks: the connection's end is the body's.
    case closeDelimited
    /// Says HTTP/1.0 and closes the connection after the response.
    case http10
    /// `Content-Encoding: gzip` on bytes as they are.
    case gzipDespiteIdentity
    case garbageStatusLine(String = "ICY 200 OK\u{1}\u{2}")
    /// A field of so many bytes.
    case hugeHeader(Int)
    /// Fields without end, until the client goes away.
    case endlessHeader
    /// Interim responses before the final one.
    case interimResponses([Int])
    /// Adds or replaces a field.
    case field(String, String)
    case contentDisposition(String)
    /// `Repr-Digest` (RFC 9530) with SHA-256; false: of something else.
    case reprDigest(right: Bool = true)
    /// `Content-Digest` with SHA-256; false: of something else.
    case contentDigest(right: Bool = true)

    // MARK: Over time

    /// After so many bytes of a body, later requests meet another resource. The body under way stays the old one.
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
        /// Applies so often; nil: always.
        package var times: Int?
        /// Lets so many go by first.
        package var skipped = 0
        /// Nil: all.
        package var methods: Set<String>?
    }

    package func times(_ count: Int) -> Behaviour { narrowed { $0.times = count } }

    /// Of the requests that it can apply to: those about ranges have none but requests with one.
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
    /// A date so many seconds from the moment of the response.
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

/// Ways in which a 206 does not tell the truth.
package enum LyingRange: Sendable {
    /// `Content-Range` starts so much later (or earlier) than the body, which is the one asked for.
    case wrongStart(by: Int64)
    /// The complete length in `Content-Range` is off by so much.
    case wrongTotal(by: Int64)
    /// `Content-Range` is the one asked for; the body's bytes come from so much later (or earlier).
    case wrongBytes(by: Int64)
    case missingContentRange
    /// An unparsable `Content-Range`.
    case garbage
    /// `multipart/byteranges` with one part.
    case multipart
}
