package import Mounts
package import NightshiftAPI
package import Sessions
import Synchronization

/// The seam to the network: one HTTP exchange at a time, redirects and authentication included.
package protocol Transport: Sendable {
    /// Begins an exchange; returns at once. `receiver` hears of it on one of the transport's threads, always the same, in
    /// order, and ``ExchangeReceiver/exchangeEnded(_:)`` exactly once, last, also after ``ExchangeHandle/cancel()``.
    func begin(_ request: WireRequest, receiver: any ExchangeReceiver) -> any ExchangeHandle

    /// Bytes per second for all exchanges together, both directions; nil is unlimited. Takes effect at once.
    func setRateLimit(_ bytesPerSecond: Int64?)

    /// The network has changed: connections kept for reuse are no longer to be trusted.
    func forgetConnections()

    /// Has the thread that carries bodies to or from files of `place` call `answered` as soon as it can; at once if no thread does.
    /// A thread that a file system holds up does not.
    func answer(from place: FileSystemKey, _ answered: @escaping @Sendable () -> Void)
}

extension Transport {
    package func answer(from place: FileSystemKey, _ answered: @escaping @Sendable () -> Void) { answered() }
}

package protocol ExchangeHandle: Sendable {
    /// Ends the exchange as soon as possible with ``ExchangeEnd/Outcome/cancelled``. Idempotent, from any thread.
    func cancel()

    /// Bytes per second of this exchange; nil is unlimited. Takes effect at once.
    func setRateLimit(_ bytesPerSecond: Int64?)

    /// Lets a sink that has reached its ``FileSink/ceiling`` go on after the ceiling was raised.
    func resumeWriting()
}

/// The receiver of an exchange's events.
///
/// It is called on a thread of the transport, other receivers at the same time on others. It decides at once and never blocks.
package protocol ExchangeReceiver: AnyObject, Sendable {
    /// The head of an interim response (1xx but 101), of whichever request redirects have led to. Any number of them, all before
    /// the final one.
    func exchange(receivedInterim head: ResponseHead) -> InterimDisposition

    /// The head of the final response: redirects are followed, credentials were answered, 1xx are past.
    func exchange(received head: ResponseHead) -> BodyDisposition

    func exchangeEnded(_ end: ExchangeEnd)
}

extension ExchangeReceiver {
    package func exchange(receivedInterim head: ResponseHead) -> InterimDisposition { .proceed }
}

/// The decision after an interim response.
package enum InterimDisposition: Sendable {
    case proceed
    /// The exchange ends here, as if cancelled.
    case stop
}

/// One request as it is to go out.
package struct WireRequest: Sendable {
    /// Absolute and encoded.
    package var url: String
    package var method: String
    /// All fields, conditional and range fields included; the transport adds Host, Content-Length, Expect and,
    /// where there is none, `Accept-Encoding: identity`.
    package var headers: [HeaderField]
    package var credential: Credential?
    package var body: UploadBody?
    /// Whether a large body waits for the server to want it (`Expect: 100-continue`), which costs a second where the server does
    /// not know that.
    package var asksBeforeLargeBody = true
    /// Whether the body may go out again, unasked, where a connection kept from before turns out to be dead: not what is to
    /// be appended to something.
    package var mayRepeatBody = true
    /// Seconds without progress in either direction.
    package var idleTimeout: Double
    /// `http://…`, `https://…` or `socks5h://…`, wherever redirects lead; empty forbids a proxy; nil leaves it to
    /// ``proxyVariables``.
    package var proxy: String?
    /// The variable that has named ``proxy``, for errors.
    package var proxyVariable: String?
    /// The service's own proxy variables, for requests that say nothing of a proxy. They are read again for each redirect.
    package var proxyVariables = ProxyVariables.none
    package var tls: TLSSettings?
    package var rateLimit: Int64?
    /// What the exchange stops for, with ``ExchangeEnd/Outcome/challenged(_:)``, instead of failing or bringing a 401 or
    /// 407. What it asks may come from wherever redirects lead.
    package var asksAbout: Set<Challenge.Method> = []
    /// Certificates that this request's own origin may show whatever the system says of their chain, names and dates:
    /// SHA-256 of their DER in lower-case hexadecimal digits.
    package var trustedCertificates: Set<String> = []
    /// Whether cookies that redirects set go along to where these lead.
    package var handlesCookies = false
    /// Whether cookies that redirects set are told of where they are not sent on.
    package var notesCookies = false
    /// The answers for other origins, should redirects lead there: by scheme, host and port.
    package var answersElsewhere: [String: OriginAnswer] = [:]
    /// The file system that the body is written to or read from, where that is not the service's own: it has a thread of its own,
    /// on which the receiver is called as well.
    package var place: FileSystemKey?

    package init(url: String, method: String, headers: [HeaderField], idleTimeout: Double) {
        self.url = url
        self.method = method
        self.headers = headers
        self.idleTimeout = idleTimeout
    }
}

/// The bytes an upload sends, piece after piece. Descriptors are the receiver's and stay open until the exchange has ended.
package struct UploadBody: Sendable {
    package enum Piece: Sendable {
        case bytes([UInt8])
        /// `size` bytes of a file from `offset` on.
        case file(descriptor: Int32, offset: Int64, size: Int64)
    }

    package var pieces: [Piece]
    /// Counts the bytes that were handed to the connection; set back when they have to be sent again.
    package var meter: ByteMeter

    package init(_ pieces: [Piece], meter: ByteMeter) {
        self.pieces = pieces
        self.meter = meter
    }

    /// Of all pieces.
    package var size: Int64 {
        pieces.reduce(0) { sum, piece in
            switch piece {
            case .bytes(let bytes): sum + Int64(bytes.count)
            case .file(_, _, let size): sum + size
            }
        }
    }
}

package struct ResponseHead: Hashable, Sendable {
    package var status: Int
    package var headers: [HeaderField]
    /// "1.0", "1.1", "2" or "3".
    package var httpVersion: String
    /// Where redirects have led.
    package var url: String
    /// After redirects.
    package var method: String
    /// Cookies that redirects on the way have set.
    package var redirectCookies: [SetCookie] = []

    package init(status: Int, headers: [HeaderField], httpVersion: String, url: String, method: String) {
        self.status = status
        self.headers = headers
        self.httpVersion = httpVersion
        self.url = url
        self.method = method
    }
}

/// The decision about a response's body.
package enum BodyDisposition: Sendable {
    case file(FileSink)
    /// Kept up to the limit, and comes with ``ExchangeEnd/body``. A longer one goes to the file that `overflow` opens, from its first
    /// byte on; a failure of that ends the exchange.
    case memory(limit: Int, overflow: @Sendable () -> Result<FileSink, TransferFailure>)
    /// Read and thrown away, so that the connection can be used again where that is cheap.
    case discard
    /// The exchange ends here, as if cancelled.
    case stop
}

/// Where body bytes go: a descriptor, from an offset on, with `pwrite`, and no further than `ceiling`.
package struct FileSink: Sendable {
    package var descriptor: Int32
    package var offset: Int64
    /// Bytes that may follow `offset`; more ends the exchange with ``TransferFailure/Code/protocolError``. Nil: no bound.
    package var length: Int64?
    /// Its value is the file offset behind the last byte written.
    package var position: ByteMeter
    /// File offset up to which may be written now; the transport pauses the exchange there until
    /// ``ExchangeHandle/resumeWriting()``.
    package var ceiling: ByteMeter
    /// File offset at which the exchange ends as ``ExchangeEnd/Outcome/complete``, whatever more the response has. May move
    /// while bytes come, also to before ``position``: nothing is written from there on.
    package var end: ByteMeter
    /// What the body begins with, before the bytes that belong at `offset`: compared, not written. Where it differs, the
    /// exchange ends with ``OverlapComparison/failure``.
    package var overlap: OverlapComparison?

    package init(
        descriptor: Int32, offset: Int64, length: Int64?, position: ByteMeter, ceiling: ByteMeter,
        end: ByteMeter, overlap: OverlapComparison? = nil
    ) {
        self.descriptor = descriptor
        self.offset = offset
        self.length = length
        self.position = position
        self.ceiling = ceiling
        self.end = end
        self.overlap = overlap
    }
}

/// A count of bytes that one thread writes and any thread reads.
package final class ByteMeter: Sendable {
    private let atomic: Atomic<Int64>

    package init(_ value: Int64 = 0) {
        atomic = Atomic(value)
    }

    package var value: Int64 {
        get { atomic.load(ordering: .acquiring) }
        set { atomic.store(newValue, ordering: .releasing) }
    }
}

/// How an exchange ended.
package struct ExchangeEnd: Sendable {
    package var outcome: Outcome
    /// The last response's head, where there was one, also when its body broke off.
    package var head: ResponseHead?
    /// The body, where its disposition was ``BodyDisposition/memory(limit:overflow:)`` and it did not need the file.
    package var body: [UInt8]
    /// Body bytes received, before any disposition.
    package var receivedBytes: Int64
    /// For ``Outcome/failed(_:)``: where on the way.
    package var failurePoint: FailurePoint?

    package enum Outcome: Sendable, Equatable {
        /// The response came whole, as far as HTTP can tell.
        case complete
        case cancelled
        case failed(TransferFailure)
        /// Somebody on the way wants an answer, which is for another exchange; nothing of a body was given to the
        /// receiver. Of the methods that are asked about the strongest comes first.
        case challenged(Challenge)
    }

    package init(
        outcome: Outcome, head: ResponseHead? = nil, body: [UInt8] = [], receivedBytes: Int64 = 0,
        failurePoint: FailurePoint? = nil
    ) {
        self.failurePoint = failurePoint
        self.outcome = outcome
        self.head = head
        self.body = body
        self.receivedBytes = receivedBytes
    }
}
