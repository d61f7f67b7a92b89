import NightshiftAPI
import NightshiftCurl
import Transfers

/// One exchange from the view of its receiver: a first request, one more request per redirect, and one final response.
///
/// This class is safe to share: `receiver` and `loop` never change. The loop's thread alone uses everything else, and
/// calls from other threads go through ``CurlLoop/perform(_:)``.
final class RedirectedExchange: CurlDelegate, ExchangeHandle, @unchecked Sendable {
    private let receiver: any ExchangeReceiver
    private let loop: CurlLoop
    private let versions: Versions
    private let finish: @Sendable (_ head: ResponseHead?, _ receivedBytes: Int64) -> Void

    /// The HTTP versions that origins require, by scheme, host and port.
    struct Versions: Sendable {
        /// A closure that returns whether requests to an origin must use HTTP/1.1.
        var wantsHTTP1: @Sendable (_ origin: String) -> Bool
        /// A closure that records that requests to an origin use HTTP/1.1 from now on.
        var record: @Sendable (_ origin: String) -> Void
    }

    /// The current request. If a redirect removed parts of the first request, later requests do not have them either.
    private var wire: WireRequest
    private var request: CurlRequest
    /// The environment variable that names the proxy of this request.
    private var proxyVariable: String?
    /// The cookies of redirects; nil if the request neither handles nor records cookies.
    private var cookies: RedirectCookies?
    private var questions: Questions
    private var meter: ByteMeter?
    private var current: CurlExchange?
    private var hop = 0
    private var isCancelled = false

    private var head: ResponseHead?
    private var next: NextRequest?
    private var trust: OriginTrust?
    /// The challenge in the final response; nil if the response has none.
    private var question: Challenge?
    private var sink = BodySink.discard(rest: BodySink.cheapRest)
    /// The outcome with which this side ended the exchange; nil if this side did not end it.
    private var ownEnd: ExchangeEnd.Outcome?

    /// Creates an exchange.
    ///
    /// - Parameter finish: Called once, on the loop's thread, before the receiver is notified of the end.
    init(
        _ wire: WireRequest, receiver: any ExchangeReceiver, loop: CurlLoop, versions: Versions,
        finish: @escaping @Sendable (_ head: ResponseHead?, _ receivedBytes: Int64) -> Void
    ) {
        self.receiver = receiver
        self.loop = loop
        self.versions = versions
        self.finish = finish
        self.wire = wire
        cookies = wire.handlesCookies || wire.notesCookies ? RedirectCookies() : nil
        questions = Questions(methods: wire.asksAbout, trustedCertificates: wire.trustedCertificates)
        meter = wire.body?.meter
        request = CurlRequest(url: wire.url, method: wire.method)
        if let body = wire.body { request.body = .pieces(CurlPieces(body)) }
        request.asksBeforeLargeBody = wire.asksBeforeLargeBody
        request.mayRepeatBody = wire.mayRepeatBody
        request.idleTimeout = wire.idleTimeout
        request.rateLimit = wire.rateLimit
        request.socketBodyBytes = Self.socketBodyBytes
        if wire.asksAbout.contains(.digest) { request.proxyScheme = .any }
        setServerFields()
    }

    /// Sets the header fields, credentials and certificates for the server of this hop.
    private func setServerFields() {
        let choice = wire.proxy == nil ? wire.proxyVariables.choice(for: wire.url) : nil
        request.proxy = wire.proxy ?? choice?.proxy
        proxyVariable = choice?.variable ?? wire.proxyVariable
        request.headers = Self.curlFields(fieldsWithCookies(for: wire.url))
        request.credential = wire.credential.map(CurlCredential.init)
        request.certificateAuthority = wire.tls?.certificateAuthority
        request.clientCertificate = wire.tls?.clientCertificate
        request.clientKey = wire.tls?.clientKey
        request.minimumTLSVersion = wire.tls?.minimumVersion
        request.maximumTLSVersion = wire.tls?.maximumVersion
        questions.trustedCertificates = wire.trustedCertificates
    }

    /// Sets the route that this hop shares with other exchanges that yield.
    private func setRoute() {
        let route = "\(request.proxy ?? "") \(origin ?? "")"
        request.yields = wire.yields.map { meter in CurlYield(route: route) { meter.value = $0 } }
    }

    func begin() {
        loop.perform { self.beginHop() }
    }

    /// The minimum number of missing bytes for which libcurl leaves the body in the socket. If the body is moved
    /// without libcurl, the connection cannot be reused, which is not worthwhile for fewer bytes.
    private static let socketBodyBytes: Int64 = 16 << 20

    // MARK: - ExchangeHandle

    func cancel() {
        loop.perform {
            self.isCancelled = true
            self.current?.cancel()
        }
    }

    func setRateLimit(_ bytesPerSecond: Int64?) {
        loop.perform {
            self.request.rateLimit = bytesPerSecond
            self.current?.setRateLimit(bytesPerSecond)
        }
    }

    func setYields(_ meter: YieldMeter?) {
        loop.perform {
            // An exchange that leaves its route and joins it again would be without a limit for a moment.
            guard self.wire.yields !== meter else { return }
            self.wire.yields = meter
            self.setRoute()
            self.current?.setYield(self.request.yields)
        }
    }

    func resumeWriting() {
        loop.perform { self.current?.resume() }
    }

    // MARK: - CurlDelegate

    func received(interim head: CurlHead) {
        guard ownEnd == nil, !isCancelled else { return }
        switch receiver.exchange(receivedInterim: responseHead(head)) {
        case .proceed: break
        case .stop: end(.cancelled)
        }
    }

    func received(head curlHead: CurlHead) {
        // The head may have arrived together with the interim response that ended the exchange.
        guard ownEnd == nil else { return }
        let head = responseHead(curlHead)
        self.head = head
        if head.status == 417, request.asksBeforeLargeBody, request.body.size > 0 {
            // The server rejected `Expect: 100-continue`. libcurl retries the request itself only if the connection
            // stays open.
            request.asksBeforeLargeBody = false
            next = NextRequest(url: request.url, method: request.method, keepsBody: true)
            return
        }
        question = questions.question(in: head, proxy: wire.proxy)
        // The body is discarded. It is still read as long as that is cheap, so that the next request can reuse the
        // connection.
        if question != nil { return }
        let redirect = RedirectPolicy.next(
            status: head.status, location: head.headers.first("Location"), from: request.url, method: request.method,
            hop: hop)
        switch redirect {
        case .follow(let url, let method, let keepsBody):
            hop += 1
            cookies?.store(head.headers, from: request.url)
            next = NextRequest(url: url, method: method, keepsBody: keepsBody)
        case .refuse(let failure):
            end(.failed(failure))
        case .none:
            switch receiver.exchange(received: head) {
            case .file(let sink): self.sink = .file(FileBody(sink, gathers: gathers))
            case .memory(let limit, let overflow):
                self.sink = .memory(MemoryBody(limit: limit, overflow: overflow))
            case .discard: break
            case .stop: end(.cancelled)
            }
        }
    }

    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer {
        if ownEnd != nil { return .stop }
        return answer(sink.write(body))
    }

    func settle() -> CurlBodyAnswer { answer(sink.settle()) }

    /// Whether bytes are gathered for larger writes. libcurl delivers the body of a TLS connection in records of at most
    /// 16 KiB.
    private var gathers: Bool { request.isSecure }

    func takesRest(_ bytes: Int64) -> Bool { sink.takesRest(bytes) }

    func received(from body: CurlSocketBody, atMost count: Int) -> CurlBodyAnswer {
        if ownEnd != nil { return .stop }
        return answer(sink.write(body, atMost: count))
    }

    private func answer(_ answer: BodySink.Answer) -> CurlBodyAnswer {
        switch answer {
        case .taken: return .taken
        case .held: return .held
        case .full: return .pause
        case .enough:
            ownEnd = .complete
            return .stop
        case .failed(let failure):
            ownEnd = .failed(failure)
            return .stop
        }
    }

    func sent(_ bytes: Int64) {
        meter?.value = bytes
    }

    func ended(_ end: CurlEnd) {
        current = nil
        if case .failed(let failure) = sink.settle() { ownEnd = ownEnd ?? .failed(failure) }
        if isCancelled { return report(.cancelled) }
        if end.wantsHTTP1, let origin { versions.record(origin) }
        if let next {
            // The redirect is followed even if its body failed.
            self.next = nil
            return follow(next)
        }
        if end.wantsHTTP1, isAskedAgain(after: end) { return beginHop() }
        if let question = question ?? questions.question(after: end, of: request, proxy: wire.proxy, trust?.finding) {
            return report(.challenged(question))
        }
        if let ownEnd { return report(ownEnd) }
        if end.wasCancelled { return report(.cancelled) }
        guard end.code != 0 else { return report(.complete) }
        report(
            .failed(TransferFailure(end, of: request, proxyVariable: proxyVariable)),
            at: FailurePoint.Stage(end, of: request))
    }

    /// Returns whether to repeat the same request at once over HTTP/1.1. This requires that no byte of the response has
    /// arrived, that this side did not end the exchange, and that the method is safe to repeat. It happens at most
    /// once, because a request over HTTP/1.1 is not repeated.
    private func isAskedAgain(after end: CurlEnd) -> Bool {
        end.code != 0 && !end.wasCancelled && ownEnd == nil && head == nil && ["GET", "HEAD"].contains(request.method)
    }

    /// The origin of the current request.
    private var origin: String? { (try? TransferURL(parsing: request.url))?.origin }

    private func responseHead(_ head: CurlHead) -> ResponseHead {
        var result = ResponseHead(
            status: head.status, headers: head.fields.map { HeaderField(name: $0.name, value: $0.value) },
            httpVersion: head.version, url: request.url, method: request.method)
        result.redirectCookies = cookies?.received ?? []
        return result
    }

    // MARK: - Hops

    private struct NextRequest {
        var url: String
        var method: String
        var keepsBody: Bool
    }

    private func beginHop() {
        if isCancelled { return report(.cancelled) }
        head = nil
        ownEnd = nil
        question = nil
        trust = questions.trust(for: request)
        request.tlsHook = trust
        request.usesHTTP1 = origin.map(versions.wantsHTTP1) ?? false
        setRoute()
        sink = .discard(rest: BodySink.cheapRest)
        meter?.value = 0
        current = loop.begin(request, delegate: self)
    }

    private func follow(_ next: NextRequest) {
        wire = wire.moved(to: next.url)
        if !next.keepsBody { wire.headers = RedirectPolicy.withoutBody(wire.headers) }
        setServerFields()
        request.url = next.url
        request.method = next.method
        if !next.keepsBody { request.body = .none }
        beginHop()
    }

    private func fieldsWithCookies(for url: String) -> [HeaderField] {
        guard let cookies, wire.handlesCookies else { return wire.headers }
        let value = cookies.field(for: url, given: wire.headers.first("Cookie"))
        let others = wire.headers.filter { $0.name.lowercased() != "cookie" }
        return others + (value.map { [HeaderField(name: "Cookie", value: $0)] } ?? [])
    }

    /// Ends the exchange now, even if no body follows.
    private func end(_ outcome: ExchangeEnd.Outcome) {
        ownEnd = outcome
        current?.cancel()
    }

    /// Reports the end of the exchange to the receiver.
    ///
    /// - Parameter stage: The stage that a failed request reached.
    private func report(_ outcome: ExchangeEnd.Outcome, at stage: FailurePoint.Stage = .server) {
        finish(head, sink.receivedBytes)
        var end = ExchangeEnd(outcome: outcome, head: head, body: sink.kept, receivedBytes: sink.receivedBytes)
        if case .failed = outcome, let url = try? TransferURL(parsing: request.url) {
            end.failurePoint = FailurePoint(origin: url.origin, stage: stage)
        }
        receiver.exchangeEnded(end)
    }

    /// Returns the header fields to send. libcurl adds the framing fields. The default `Accept-Encoding` requests the
    /// bytes in the form in which they are stored.
    private static func curlFields(_ fields: [HeaderField]) -> [CurlField] {
        var result = fields.filter { !["content-length", "transfer-encoding"].contains($0.name.lowercased()) }
        if result.first("Accept-Encoding") == nil {
            result.append(HeaderField(name: "Accept-Encoding", value: "identity"))
        }
        if result.first("User-Agent") == nil {
            result.append(HeaderField(name: "User-Agent", value: "nightshift/\(NightshiftVersion.current)"))
        }
        return result.map { CurlField(name: $0.name, value: $0.value) }
    }
}

extension CurlPieces {
    fileprivate init(_ body: UploadBody) {
        self.init(
            body.pieces.map { piece in
                switch piece {
                case .bytes(let bytes): .bytes(bytes)
                case .file(let descriptor, let offset, let size):
                    .file(descriptor: descriptor, offset: offset, size: size)
                }
            })
    }
}

extension CurlCredential {
    fileprivate init(_ credential: Credential) {
        let scheme: Scheme =
            switch credential.scheme {
            case .basic: .basic
            case .digest: .digest
            case .any, nil: .any
            }
        self.init(user: credential.user, password: credential.password, scheme: scheme)
    }
}
