import HTTPServing
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
    /// An element whenever the file at a path may be gone, or a folder on its way may be there again; finished at once where
    /// nobody can tell.
    var changes: @Sendable (_ path: String) -> AsyncStream<Void>
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
            try await serve(descriptor, file, on: group, onListening: onListening)
        } catch {
            file?.remove()
            try? await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    private func serve(
        _ descriptor: Int32, _ file: SocketFile?, on group: MultiThreadedEventLoopGroup,
        onListening: @Sendable () async -> Void
    ) async throws {
        let connections = Connections()
        let server = try await listen(descriptor, on: group, connections)
        let (stopTimeout, loop) = (limits.stopTimeout, server.channel.eventLoop)
        let last = await withGracefulShutdownHandler {
            await onListening()
            return await withDiscardingTaskGroup(returning: SocketFile?.self) { tasks in
                tasks.addTask { await accept(from: server) }
                var file = file
                while let known = file, let changes = nextChanges() {
                    if known.isThere {
                        await wait(for: changes, until: { !known.isThere })
                        // Whoever takes the folders away comes to the end first: a socket in one of them would be in the way.
                        await cancelWhenGracefulShutdown { try? await Task.sleep(for: Self.removalPause) }
                    } else if let (new, server) = await listenAgain(on: group, connections) {
                        file = new
                        tasks.addTask { await accept(from: server) }
                    } else {
                        await wait(for: changes, until: { true })
                    }
                    guard !Task.isShuttingDownGracefully, !Task.isCancelled else { break }
                }
                return file
            }
        } onGracefulShutdown: {
            loop.execute { connections.quiesce() }
            loop.scheduleTask(in: stopTimeout) { connections.close() }
        }
        last?.remove()
    }

    private func listen(
        _ descriptor: Int32, on group: MultiThreadedEventLoopGroup, _ connections: Connections
    ) async throws -> NIOAsyncChannel<Connection?, Never> {
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
        connections.listen(server.channel)
        return server
    }

    // MARK: - A socket whose file is gone

    /// Nil where the socket is not ours.
    private func nextChanges() -> AsyncStream<Void>? {
        if case .path(let path) = socket { changes(path) } else { nil }
    }

    /// Until something has changed so that `isEnough`, or the service stops.
    private func wait(for changes: AsyncStream<Void>, until isEnough: @escaping @Sendable () -> Bool) async {
        await cancelWhenGracefulShutdown {
            for await _ in changes where isEnough() { return }
            // The kernel has no watch to give (fs.inotify.max_user_instances): it is looked at now and then.
            repeat { try? await Task.sleep(for: Self.pause) } while !isEnough() && !Task.isCancelled
        }
    }

    /// Nil where there cannot be a socket now.
    private func listenAgain(
        on group: MultiThreadedEventLoopGroup, _ connections: Connections
    ) async -> (SocketFile?, NIOAsyncChannel<Connection?, Never>)? {
        do {
            let descriptor = try socket.open()
            let file = SocketFile(socket)
            let server = try await listen(descriptor, on: group, connections)
            logger.notice("The socket was removed. The service listens on a new one.")
            return (file, server)
        } catch {
            logger.warning(
                "The socket was removed, and a new one cannot be created yet.", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Less than clients wait for a service that has started (`ServiceLauncher`).
    private static let pause: Duration = .seconds(5)
    private static let removalPause: Duration = .seconds(1)

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
                logger.error("accepting connections ended unexpectedly", metadata: ["error": "\(error)"])
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
                    additionalChannelHandlers: [UnreadableRequestHandler(), WholeAnswerHandler()],
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
