import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypesHTTP1
import NIOPosix
import ServiceLifecycle

/// HTTP/1.1 on a Unix socket: connections, callers, limits, start and stop.
///
/// Hummingbird's own `Application` and `Server` are not used: the one ticks every second to keep a formatted date, the
/// other cannot take over a socket. Without requests nothing here runs: the only timers are one per connection that is
/// awaited, and the one of a stop.
struct SocketServer: Sendable {
    var socket: ListeningSocket
    var owner: uid_t
    var limits: ConnectionLimits
    var logger: Logger
    /// Answers requests of allowed callers.
    var respond: @concurrent @Sendable (Request, consuming ResponseWriter, Caller) async throws -> Void
    /// Answers requests of everyone else.
    var refuse: HTTPChannelHandler.Responder

    private struct Connection: Sendable {
        var http: HTTP1Channel
        var channel: HTTP1Channel.Value
    }

    /// Serves until the service stops gracefully or the task is cancelled.
    func run(onListening: @Sendable () async -> Void) async throws {
        let descriptor = try socket.open()
        let file = SocketFile(socket)
        // One thread moves all bytes there are on a local socket; work happens in tasks.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            try await serve(descriptor, on: group, onListening: onListening)
        } catch {
            file?.remove()
            try? await group.shutdownGracefully()
            throw error
        }
        file?.remove()
        try await group.shutdownGracefully()
    }

    private func serve(
        _ descriptor: Int32, on group: MultiThreadedEventLoopGroup, onListening: @Sendable () async -> Void
    ) async throws {
        let connections = Connections()
        let maximum = limits.connections
        let server = try await ServerBootstrap(group: group)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AvailableConnectionsChannelHandler(maxConnections: maximum))
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(descriptor) { channel in
                connections.insert(channel)
                return setUp(channel, connections)
            }
        let stopTimeout = limits.stopTimeout
        await withGracefulShutdownHandler {
            await onListening()
            await accept(from: server)
        } onGracefulShutdown: {
            server.channel.eventLoop.execute {
                connections.quiesce()
                server.channel.close(promise: nil)
            }
            server.channel.eventLoop.scheduleTask(in: stopTimeout) { connections.close() }
        }
    }

    private func accept(from server: NIOAsyncChannel<Connection?, Never>) async {
        await withDiscardingTaskGroup { group in
            do {
                try await server.executeThenClose { inbound in
                    for try await connection in inbound {
                        guard let connection else { continue }
                        group.addTask { await connection.http.handle(value: connection.channel, logger: logger) }
                    }
                }
            } catch {
                logger.error("accepting connections ended", metadata: ["error": "\(error)"])
            }
        }
    }

    private func responder(for caller: Caller, isAllowed: Bool) -> HTTPChannelHandler.Responder {
        guard isAllowed else { return refuse }
        return { [respond] request, writer, _ in try await respond(request, writer, caller) }
    }

    /// Nil for a connection that comes when the server is being closed: nobody would take it any more, and NIO ends the
    /// program where a channel is made for asynchronous use and never used. The one event loop sees the two in order.
    private func setUp(_ channel: any Channel, _ connections: Connections) -> EventLoopFuture<Connection?> {
        Caller.of(channel).flatMap { caller in
            guard !connections.isStopping else {
                channel.close(promise: nil)
                return channel.eventLoop.makeSucceededFuture(nil)
            }
            let allowed = caller.isAllowed(owner: owner)
            if !allowed {
                logger.warning("caller refused", metadata: ["uid": "\(caller.user)"])
            }
            let http = HTTP1Channel(
                responder: responder(for: caller, isAllowed: allowed),
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [UnreadableRequestHandler()],
                    idleTimeout: limits.idleTimeout,
                    httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                        maxHeaderFieldSize: limits.headerField, maxHeaderListSize: limits.headerList,
                        maxHeaderFieldCount: limits.headerFields)))
            return http.setup(channel: channel, logger: logger).flatMapThrowing { value in
                let pipeline = channel.pipeline.syncOperations
                let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
                try pipeline.addHandler(RequestHeadHandler(), position: .before(codec))
                return Connection(http: http, channel: value)
            }
        }
    }
}
