import NIOCore
import NIOHTTP1
import PushProtocol
import PushRouting

/// A sender's HTTP/1.1 connection to endpoints of UnifiedPush.
///
/// Confined to its event loop. Requests are handled one at a time. While a request is unanswered, the pipeline holds
/// the next request, and delivers it during the write of the response. Therefore `channelRead` never writes a response
/// that may be followed by another: many requests in one buffer would each add a level of recursion.
final class SenderConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let gateway: Gateway
    private let proved: @Sendable () -> Void
    private let closed: @Sendable () -> Void
    private var context: ChannelHandlerContext?
    private var conduct = ProviderConduct()
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    /// The number of bytes of the body that have arrived, including bytes that were not added to `body`.
    private var size = 0
    private var isEnding = false
    private var timeout: Scheduled<Void>?
    /// The timer that closes a connection whose sender does not authenticate in time.
    private var anonymity: Scheduled<Void>?

    /// The time after which a connection without a request is closed, in seconds.
    private static let idle = 60
    /// The number of bytes of a body after which the gateway refuses the request without reading the rest. The sender of
    /// a smaller body that is too large can read the refusal.
    private static let longestBody = 256 << 10

    /// Creates the handler of a sender's connection.
    ///
    /// - Parameter proved: called with the first successful request to an endpoint.
    init(gateway: Gateway, proved: @escaping @Sendable () -> Void, closed: @escaping @Sendable () -> Void) {
        self.gateway = gateway
        self.proved = proved
        self.closed = closed
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        wait(Self.idle)
        let limit = TimeAmount.seconds(ProviderConnection.anonymousLimit)
        anonymity = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.end() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        anonymity?.cancel()
        self.context = nil
        closed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        if event is GatewayStops {
            end()
            // Shutdown does not wait for a request that is still arriving.
            let channel = context.channel
            context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Closes the connection after answering the current request.
    private func end() {
        isEnding = true
        if head == nil { context?.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            // The connection is ending, so ignore further requests.
            guard !isEnding else { return }
            self.head = head
            body = []
            size = 0
            wait(gateway.settings.bodyTimeout)
            if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
                context.writeAndFlush(
                    wrapOutboundOut(.head(.init(version: head.version, status: .continue))), promise: nil)
            }
        case .body(let buffer):
            guard head != nil else { return }
            size += buffer.readableBytes
            if size <= Push.messageLimit { body.append(contentsOf: buffer.readableBytesView) }
            if size > Self.longestBody { answer(.tooLarge, isLast: true) }
        case .end:
            guard head != nil else { return }
            timeout?.cancel()
            context.eventLoop.assumeIsolated().execute { self.requested() }
        }
    }

    /// Sets the time limit in seconds for the rest of the request, or for the next request.
    private func wait(_ seconds: Int) {
        timeout?.cancel()
        timeout = context?.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Int64(seconds))) {
            if self.head == nil {
                self.context?.close(promise: nil)
            } else {
                self.answer(.slow, isLast: true)
            }
        }
    }

    private func requested() {
        guard let head, let context else { return }
        guard head.namesHost else { return answer(.noHost, isLast: true) }
        guard EndpointRequest.isEndpoint(head.path) else { return answer(.notFound) }
        let arrival = EndpointExchange.Arrival(
            method: head.method.rawValue, path: head.path,
            fields: head.headers.map { ($0.name.lowercased(), $0.value) }, body: body,
            isTooLarge: size > Push.messageLimit)
        EndpointExchange(gateway: gateway).answer(arrival, on: context.eventLoop).assumeIsolated()
            .whenSuccess { self.answer($0) }
    }

    /// Sends a response.
    ///
    /// - Parameter isLast: whether the connection is closed after this response.
    private func answer(_ answer: EndpointAnswer, isLast: Bool = false) {
        guard let head, let context else { return }
        self.head = nil
        // The sender used the token of an endpoint, which proves that the sender may send.
        if (200..<300).contains(answer.status), let anonymity {
            anonymity.cancel()
            self.anonymity = nil
            proved()
        }
        let verdict = conduct.answered(answer.status, gateway.settings.conduct)
        isEnding = isEnding || isLast || !head.isKeepAlive || verdict == .end
        var headers = HTTPHeaders(answer.fields)
        if answer.status != 204 { headers.add(name: "content-length", value: "\(answer.text.utf8.count)") }
        if !answer.text.isEmpty, !headers.contains(name: "content-type") {
            headers.add(name: "content-type", value: "text/plain; charset=utf-8")
        }
        if isEnding { headers.add(name: "connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: answer.status)
        context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        if head.method != .HEAD, !answer.text.isEmpty {
            let buffer = context.channel.allocator.buffer(string: answer.text)
            context.write(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
        }
        let done = context.eventLoop.makePromise(of: Void.self)
        if isEnding { done.futureResult.assumeIsolated().whenComplete { _ in self.context?.close(promise: nil) } }
        // The request is finished even if the peer does not read the response. The next request may arrive during
        // the write. Then it sets its own timeout.
        wait(Self.idle)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: done)
    }
}
