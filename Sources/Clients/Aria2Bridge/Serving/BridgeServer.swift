import Foundation
import HTTPServing
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOWebSocket

/// The server of the bridge on a port of 127.0.0.1: HTTP/1.1, and WebSockets at `/jsonrpc`.
struct BridgeServer: Sendable {
    var loopback: LoopbackServer
    var gate: BridgeGate
    var dispatcher: CallDispatcher

    /// The maximum number of concurrent connections.
    static let mostConnections = 256
    /// The longest pause within a request, and between two requests of a connection without a WebSocket.
    private static let idleTimeout = Duration.seconds(60)
    private static let path = "/jsonrpc"

    private enum Upgrade: Sendable {
        case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
        case webSocket(WebSocketSession.Channel)
    }

    private struct Connection: Sendable {
        var wire: any Channel
        /// Completes with the first request of the connection.
        var upgrade: EventLoopFuture<Upgrade>
    }

    /// Serves until the closure that `onListening` receives is called.
    ///
    /// - Parameter onListening: called once, with the port, and a closure that ends the server.
    func run(onListening: (_ port: Int, _ end: @escaping @Sendable () -> Void) async throws -> Void) async throws {
        try await LoopbackServer.withEventLoop { group in try await serve(on: group, onListening) }
    }

    private func serve(
        on group: MultiThreadedEventLoopGroup,
        _ onListening: (_ port: Int, _ end: @escaping @Sendable () -> Void) async throws -> Void
    ) async throws {
        let listener = try await loopback.open(on: group) { channel in setUp(channel) }
        let channel = listener.channel
        try await onListening(listener.port) { channel.close(promise: nil) }
        await loopback.serve(listener) { connection in await serve(connection) }
    }

    private func serve(_ connection: Connection) async {
        await withTaskCancellationHandler {
            // Without an upgrade, the client closed the connection, or sent no valid request.
            guard let upgrade = try? await connection.upgrade.get() else { return }
            switch upgrade {
            case .webSocket(let channel): await WebSocketSession(dispatcher: dispatcher).run(channel)
            case .http(let channel):
                let session = BridgeSession(gate: gate, dispatcher: dispatcher)
                let http = HTTP1Channel { request, writer, _ in try await session.respond(to: request, writer) }
                await http.handle(value: channel, logger: loopback.logger)
            }
        } onCancel: {
            connection.wire.triggerUserOutboundEvent(CloseTimeout(), promise: nil)
            connection.wire.close(promise: nil)
        }
    }

    private func setUp(_ channel: any Channel) -> EventLoopFuture<Connection?> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(IdleStateHandler(readTimeout: .init(Self.idleTimeout)), name: "idle")
            try pipeline.addHandler(IdleCloser(), name: "idle closer")
            let upgrader = NIOTypedWebSocketServerUpgrader<Upgrade>(
                maxFrameSize: BridgeSession.mostBytes,
                shouldUpgrade: { channel, head in
                    guard let refusal = refusal(of: head) else {
                        return channel.eventLoop.makeSucceededFuture(HTTPHeaders())
                    }
                    return Self.refuse(channel, refusal)
                },
                upgradePipelineHandler: { channel, _ in Self.webSocket(channel) })
            var configuration = NIOUpgradableHTTPServerPipelineConfiguration(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { channel in Self.http(channel, loopback.logger) }))
            // The task of the connection answers one request after the other.
            configuration.enablePipelining = false
            let upgrade = try pipeline.configureUpgradableHTTPServerPipeline(configuration: configuration)
            return Connection(wire: channel, upgrade: upgrade)
        }
    }

    /// The status with which a WebSocket is refused; nil if it is admitted.
    private func refusal(of head: HTTPRequestHead) -> HTTPResponseStatus? {
        guard head.uri.prefix(while: { $0 != "?" }) == Self.path else { return .notFound }
        // RFC 6455, section 4.1: the key has 16 bytes.
        let key = head.headers.first(name: "sec-websocket-key").flatMap { Data(base64Encoded: $0) }
        guard key?.count == 16 else { return .badRequest }
        let decision = gate.decide(hosts: head.headers["host"], origins: head.headers["origin"])
        if case .refused = decision { return .forbidden }
        return nil
    }

    /// Sends a response instead of the WebSocket, and closes the connection.
    private static func refuse(
        _ channel: any Channel, _ status: HTTPResponseStatus
    ) -> EventLoopFuture<HTTPHeaders?> {
        let head = HTTPResponseHead(
            version: .http1_1, status: status, headers: ["content-length": "0", "connection": "close"])
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        return channel.writeAndFlush(HTTPServerResponsePart.end(nil)).flatMap { channel.close() }.map { nil }
    }

    /// Ends the limit of time for the first request.
    private static func removeIdleTimeout(_ pipeline: ChannelPipeline.SynchronousOperations) {
        pipeline.removeHandler(name: "idle", promise: nil)
        pipeline.removeHandler(name: "idle closer", promise: nil)
    }

    private static func webSocket(_ channel: any Channel) -> EventLoopFuture<Upgrade> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            // A client may listen for days.
            removeIdleTimeout(pipeline)
            try pipeline.addHandler(FrameCheck())
            try pipeline.addHandler(
                NIOWebSocketFrameAggregator(
                    minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1_024,
                    maxAccumulatedFrameSize: BridgeSession.mostBytes))
            return .webSocket(try NIOAsyncChannel(wrappingChannelSynchronously: channel))
        }
    }

    private static func http(_ channel: any Channel, _ logger: Logger) -> EventLoopFuture<Upgrade> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            // From now on, Hummingbird's handler limits the time, and the task of the connection answers requests that
            // cannot be parsed.
            removeIdleTimeout(pipeline)
            let errors = try pipeline.handler(type: HTTPServerProtocolErrorHandler.self)
            pipeline.removeHandler(errors, promise: nil)
            try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
            try pipeline.addHandler(WholeAnswerHandler())
            try pipeline.addHandler(HTTPConnectionStateHandler(idleTimeout: idleTimeout, logger: logger))
            return .http(
                try NIOAsyncChannel(
                    wrappingChannelSynchronously: channel,
                    configuration: NIOAsyncChannel.Configuration(isOutboundHalfClosureEnabled: true)))
        }
    }
}

/// A handler that closes connections whose clients send no first request.
private final class IdleCloser: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        context.close(promise: nil)
    }
}

/// A handler that closes WebSockets whose frames a server must refuse: frames without a mask, and frames of extensions
/// (RFC 6455, sections 5.1 and 5.2).
private final class FrameCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private var isClosing = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard frame.maskKey == nil || frame.rsv1 || frame.rsv2 || frame.rsv3 else {
            return context.fireChannelRead(data)
        }
        guard !isClosing else { return }
        isClosing = true
        var reason = context.channel.allocator.buffer(capacity: 2)
        reason.write(webSocketErrorCode: .protocolError)
        let close = WebSocketFrame(fin: true, opcode: .connectionClose, data: reason)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(close)).whenComplete { _ in channel.close(promise: nil) }
    }
}
