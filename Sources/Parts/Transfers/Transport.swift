package import Mounts
package import NightshiftAPI
package import Sessions
import Synchronization

/// The interface to the network: one HTTP exchange per call, including redirects and authentication.
package protocol Transport: Sendable {
    /// Begins an exchange and returns at once. The transport calls `receiver` in order, always on the same one of its
    /// threads. It calls ``ExchangeReceiver/exchangeEnded(_:)`` exactly once, as the last call, even after
    /// ``ExchangeHandle/cancel()``.
    func begin(_ request: WireRequest, receiver: any ExchangeReceiver) -> any ExchangeHandle

    /// Sets the rate limit for all exchanges together, in bytes per second for both directions. Nil means unlimited.
    /// The limit takes effect at once.
    func setRateLimit(_ bytesPerSecond: Int64?)

    /// Discards idle connections, because the network has changed.
    func forgetConnections()

    /// Calls `answered` as soon as possible on the thread that reads and writes files on the file system `place`. If
    /// the file system has no such thread, calls `answered` at once. If the file system blocks the thread, `answered`
    /// is not called.
    func answer(from place: FileSystemKey, _ answered: @escaping @Sendable () -> Void)
}

extension Transport {
    package func answer(from place: FileSystemKey, _ answered: @escaping @Sendable () -> Void) { answered() }
}

package protocol ExchangeHandle: Sendable {
    /// Ends the exchange as soon as possible with ``ExchangeEnd/Outcome/cancelled``. This function is idempotent, and
    /// callable from any thread.
    func cancel()

    /// Sets the rate limit of this exchange, in bytes per second. Nil means unlimited. The limit takes effect at once.
    func setRateLimit(_ bytesPerSecond: Int64?)

    /// Sets whether this exchange yields to other traffic. The meter then shows how it does; nil means that it does not
    /// yield. The change takes effect at once.
    func setYields(_ meter: YieldMeter?)

    /// Continues writing to a sink that has reached its ``FileSink/ceiling``, after the ceiling was raised.
    func resumeWriting()
}

extension ExchangeHandle {
    package func setYields(_ meter: YieldMeter?) {}
}

/// The receiver of an exchange's events.
///
/// The transport calls the receiver on one of its threads, while other threads may call other receivers. The receiver
/// decides at once and never blocks.
package protocol ExchangeReceiver: AnyObject, Sendable {
    /// Receives the head of an interim response (1xx except 101) to any request of the exchange, including requests
    /// that follow a redirect. The transport calls this function any number of times, always before the final response.
    func exchange(receivedInterim head: ResponseHead) -> InterimDisposition

    /// Receives the head of the final response, after redirects, authentication and interim responses.
    func exchange(received head: ResponseHead) -> BodyDisposition

    func exchangeEnded(_ end: ExchangeEnd)
}

extension ExchangeReceiver {
    package func exchange(receivedInterim head: ResponseHead) -> InterimDisposition { .proceed }
}

/// The receiver's decision after an interim response: whether the exchange continues.
package enum InterimDisposition: Sendable {
    case proceed
    /// The exchange ends here, as if cancelled.
    case stop
}

/// A request in the form in which it is sent.
package struct WireRequest: Sendable {
    /// The absolute, percent-encoded URL.
    package var url: String
    package var method: String
    /// All header fields, including conditional and range fields. The transport adds Host, Content-Length, Expect and,
    /// if missing, `Accept-Encoding: identity`.
    package var headers: [HeaderField]
    package var credential: Credential?
    package var body: UploadBody?
    /// Whether a large body waits until the server requests it (`Expect: 100-continue`). If a server does not support
    /// this, the wait costs a second.
    package var asksBeforeLargeBody = true
    /// Whether the transport itself may repeat the body if a reused connection turns out to be dead. False for bodies
    /// that append to something.
    package var mayRepeatBody = true
    /// The timeout without progress in either direction, in seconds.
    package var idleTimeout: Double
    /// The proxy as `http://…`, `https://…` or `socks5h://…`. The proxy is used for redirects, too. An empty string
    /// forbids a proxy; nil uses ``proxyVariables``.
    package var proxy: String?
    /// The name of the environment variable that ``proxy`` comes from, for error messages.
    package var proxyVariable: String?
    /// The service's own proxy variables, for requests that set no proxy. They are evaluated again for each redirect.
    package var proxyVariables = ProxyVariables.none
    package var tls: TLSSettings?
    package var rateLimit: Int64?
    /// The meter of an exchange that yields to other traffic; nil if it does not yield.
    package var yields: YieldMeter?
    /// The methods of challenges for which the exchange stops with ``ExchangeEnd/Outcome/challenged(_:)``, instead of
    /// failing or returning a 401 or 407. A redirect target may send such a challenge, too.
    package var asksAbout: Set<Challenge.Method> = []
    /// Certificates that the origin of this request may use, even if the system rejects their chain, names or dates.
    /// Each is the SHA-256 of the DER form in lower-case hexadecimal digits.
    package var trustedCertificates: Set<String> = []
    /// Whether cookies that a redirect sets are sent to its target.
    package var handlesCookies = false
    /// Whether the exchange reports the cookies that redirects set to the receiver, if it does not send these cookies
    /// itself.
    package var notesCookies = false
    /// The app's answers to challenges of other origins, to which redirects may lead. The key is scheme, host and port.
    package var answersElsewhere: [String: OriginAnswer] = [:]
    /// The file system that the body is written to or read from; nil for the service's own file system. Each other file
    /// system has its own thread, which also calls the receiver.
    package var place: FileSystemKey?

    package init(url: String, method: String, headers: [HeaderField], idleTimeout: Double) {
        self.url = url
        self.method = method
        self.headers = headers
        self.idleTimeout = idleTimeout
    }
}

/// The body of an upload in pieces. The receiver owns the descriptors and keeps them open until the exchange has ended.
package struct UploadBody: Sendable {
    package enum Piece: Sendable {
        case bytes([UInt8])
        /// A range of `size` bytes of a file, beginning at `offset`.
        case file(descriptor: Int32, offset: Int64, size: Int64)
    }

    package var pieces: [Piece]
    /// The number of bytes that were handed to the connection. The number is reset when the bytes have to be sent
    /// again.
    package var meter: ByteMeter

    package init(_ pieces: [Piece], meter: ByteMeter) {
        self.pieces = pieces
        self.meter = meter
    }

    /// The size of all pieces together.
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
    /// The HTTP version: "1.0", "1.1", "2" or "3".
    package var httpVersion: String
    /// The URL that sent the response, after redirects.
    package var url: String
    /// The method of the last request, after redirects.
    package var method: String
    /// The cookies that redirects have set.
    package var redirectCookies: [SetCookie] = []

    package init(status: Int, headers: [HeaderField], httpVersion: String, url: String, method: String) {
        self.status = status
        self.headers = headers
        self.httpVersion = httpVersion
        self.url = url
        self.method = method
    }
}

/// The receiver's decision about the body of a response.
package enum BodyDisposition: Sendable {
    case file(FileSink)
    /// The body is kept in memory up to the limit, and arrives in ``ExchangeEnd/body``. A longer body is written, from
    /// its first byte, to the file that `overflow` opens. If the file cannot be opened, the exchange ends.
    case memory(limit: Int, overflow: @Sendable () -> Result<FileSink, TransferFailure>)
    /// The body is read and discarded, so that the connection can be reused if that is cheap.
    case discard
    /// The exchange ends here, as if cancelled.
    case stop
}

/// The destination of body bytes: a descriptor to which the transport writes with `pwrite`, beginning at an offset and
/// up to `ceiling`.
package struct FileSink: Sendable {
    package var descriptor: Int32
    package var offset: Int64
    /// The maximum number of bytes that may follow `offset`; nil means no limit. More bytes end the exchange with
    /// ``TransferFailure/Code/protocolError``.
    package var length: Int64?
    /// The file offset after the last byte written.
    package var position: ByteMeter
    /// The file offset up to which bytes may be written now. The transport pauses the exchange there until
    /// ``ExchangeHandle/resumeWriting()``.
    package var ceiling: ByteMeter
    /// The file offset at which the exchange ends as ``ExchangeEnd/Outcome/complete``, even if the response continues.
    /// The value may change while bytes arrive, even to a value before ``position``. The transport writes no bytes from
    /// this offset on.
    package var end: ByteMeter
    /// The comparison for bytes before `offset` at the beginning of the body. These bytes are compared and not written.
    /// If they differ, the exchange ends with ``OverlapComparison/failure``.
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

/// The current ``YieldStatus`` of a transfer. One thread writes it, and any thread reads it.
package final class YieldMeter: Sendable {
    private let state = Mutex<YieldStatus?>(nil)

    package init() {}

    /// Nil while the transfer does not yield.
    package var value: YieldStatus? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// The end of an exchange.
package struct ExchangeEnd: Sendable {
    package var outcome: Outcome
    /// The head of the last response, if there was one, even if its body ended early.
    package var head: ResponseHead?
    /// The body of the response, if its disposition was ``BodyDisposition/memory(limit:overflow:)`` and the body fitted
    /// in memory.
    package var body: [UInt8]
    /// The number of body bytes received, before any disposition.
    package var receivedBytes: Int64
    /// The point at which the exchange failed, if the outcome is ``Outcome/failed(_:)``.
    package var failurePoint: FailurePoint?

    package enum Outcome: Sendable, Equatable {
        /// The response is complete, as far as HTTP can tell.
        case complete
        case cancelled
        case failed(TransferFailure)
        /// A server or proxy sent a challenge, which needs another exchange. The receiver got no body. If the server
        /// offers several methods, the challenge names the strongest.
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

    /// The point at which the exchange failed: before the server, or at the server that sent the response.
    var placeOfFailure: FailurePoint? { failurePoint ?? head.flatMap { FailurePoint($0) } }
}
