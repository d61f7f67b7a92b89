import NIOCore
import NIOHTTP1
import NIOPosix
import PushStore

/// A server for metrics and health checks, over plain HTTP.
enum StatusServer {
    static func listen(_ gateway: Gateway, group: any EventLoopGroup) async throws -> any Channel {
        let address = gateway.settings.status
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(IdleStateHandler(allTimeout: .seconds(30)))
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(StatusHandler(gateway: gateway))
                }
            }
            .bind(to: address)
    }
}

private final class StatusHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let gateway: Gateway

    init(gateway: Gateway) {
        self.gateway = gateway
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return }
        guard head.namesHost else {
            return later(context, .badRequest, "An HTTP/1.1 request must have exactly one Host field.\n")
        }
        let gateway = self.gateway
        switch head.path {
        case "/healthz":
            look(context) {
                try await gateway.checkHealth()
            } then: { _ in
                "ok\n"
            }
        case "/metrics":
            look(context) {
                try await gateway.store.counts()
            } then: {
                self.metrics($0)
            }
        default: later(context, .notFound, "This path does not exist. Use /metrics or /healthz.\n")
        }
    }

    private func look<Value: Sendable>(
        _ context: ChannelHandlerContext, _ body: @escaping @Sendable () async throws -> Value,
        then text: @escaping (Value) -> String
    ) {
        context.eventLoop.makeFutureWithTask(body).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let value): self.answer(context, .ok, text(value))
            case .failure(let error): self.answer(context, .serviceUnavailable, "\(error)\n")
            }
        }
    }

    /// Writes the response in a later turn of the event loop, because the pipeline delivers the next request during the
    /// write of a response.
    private func later(_ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ text: String) {
        context.eventLoop.assumeIsolated().execute { self.answer(context, status, text) }
    }

    private func metrics(_ counts: StoreCounts) -> String {
        let connections = gateway.counts()
        let held = counts.held.map { [("nightshift_gateway_waiting_pushes{slot=\"held\"}", $0)] } ?? []
        return gateway.metrics.text(
            held + [
                ("nightshift_gateway_connections{kind=\"provider\"}", connections.providers),
                ("nightshift_gateway_connections{kind=\"device\"}", connections.devices),
                ("nightshift_gateway_devices", counts.devices),
                ("nightshift_gateway_tokens", counts.tokens),
                ("nightshift_gateway_waiting_pushes{slot=\"stored\"}", counts.stored),
                ("nightshift_gateway_waiting_writes", gateway.store.depth),
            ])
    }

    private func answer(_ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ text: String) {
        let headers: HTTPHeaders = [
            "content-type": "text/plain; version=0.0.4; charset=utf-8", "content-length": "\(text.utf8.count)",
        ]
        context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
