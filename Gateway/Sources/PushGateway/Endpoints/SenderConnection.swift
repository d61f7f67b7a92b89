import NIOCore
import NIOHTTP1
import PushProtocol
import PushRouting

/// The connection of a sender to endpoints of UnifiedPush that speaks HTTP/1.1.
///
/// Belongs to its event loop. Requests come one by one: what is sent behind one that is not answered waits in the
/// pipeline, which hands the next one on from within the write of an answer. No answer that others may follow is given
/// within `channelRead`: each of many requests in one piece would go one level deeper into the stack.
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
    /// Bytes of the body that came, kept or not.
    private var size = 0
    private var isEnding = false
    private var patience: Scheduled<Void>?
    /// Ends a connection that never comes to prove that it is a sender's.
    private var anonymity: Scheduled<Void>?

    /// Seconds that a connection may have nothing under way.
    private static let idle = 60
    /// Bytes of a body that are read before the answer that it is too large: a sender hears it that sends on meanwhile.
    private static let longestBody = 256 << 10

    /// - Parameter proved: called with the first request that names an endpoint which is there.
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
        patience?.cancel()
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
            // A request that comes piece by piece is not waited for.
            let channel = context.channel
            context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Ends the connection; a request that is under way is answered first.
    private func end() {
        isEnding = true
        if head == nil { context?.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            // What comes behind the last answer is for nobody.
            guard !isEnding else { return }
            self.head = head
            body = []
            size = 0
            wait(gateway.settings.bodyPatience)
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
            patience?.cancel()
            context.eventLoop.assumeIsolated().execute { self.requested() }
        }
    }

    /// The rest of the request, or the next one, has to come within so many seconds.
    private func wait(_ seconds: Int) {
        patience?.cancel()
        patience = context?.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Int64(seconds))) {
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

    /// - Parameter isLast: whether the connection ends with it.
    private func answer(_ answer: EndpointAnswer, isLast: Bool = false) {
        guard let head, let context else { return }
        self.head = nil
        // Whoever has an endpoint may send.
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
        // It is over even where nobody reads the answer. The next request may come within the write, and waits itself.
        wait(Self.idle)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: done)
    }
}
