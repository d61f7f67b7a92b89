import HTTPServing
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypesHTTP1
import NIOPosix
import ServiceLifecycle

/// A server for HTTP/1.1 on a Unix socket. It handles connections, callers, limits, start and stop.
///
/// Hummingbird's own `Application` and `Server` are not used: `Application` has a timer each second for a formatted
/// date, and `Server` cannot use an inherited socket. Without requests, nothing runs here. The only timers are one per
/// waiting connection, and one while the server stops.
struct SocketServer: Sendable {
    var socket: ListeningSocket
    var owner: uid_t
    var limits: ConnectionLimits
    var logger: Logger
    /// Returns a stream with an event whenever the file at a path may have been removed, or one of its folders may
    /// exist again. The stream finishes immediately if changes cannot be watched.
    var changes: @Sendable (_ path: String) -> AsyncStream<Void>
    /// A closure that handles the requests of allowed callers.
    var respond: @concurrent @Sendable (Request, consuming ResponseWriter, Caller) async throws -> Void
    /// A closure that handles the requests of all other callers.
    var refuse: HTTPChannelHandler.Responder

    private struct Connection: Sendable {
        var http: HTTP1Channel
        var channel: HTTP1Channel.Value
    }

    /// Serves until the service stops gracefully or the task is cancelled.
    func run(onListening: @Sendable () async -> Void) async throws {
        let descriptor = try socket.open()
        let file = SocketFile(socket)
        // One thread is enough to move all bytes on a local socket. Other work runs in Swift tasks.
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
                        // The pause gives a program that removes the folders time to finish. A new socket in one of the
                        // folders would prevent that.
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

    // MARK: - A removed socket file

    /// Returns a stream of changes to the socket file, or nil if this service did not create the socket.
    private func nextChanges() -> AsyncStream<Void>? {
        if case .path(let path) = socket { changes(path) } else { nil }
    }

    /// Waits until a change makes `isEnough` true, or until the service stops.
    private func wait(for changes: AsyncStream<Void>, until isEnough: @escaping @Sendable () -> Bool) async {
        await cancelWhenGracefulShutdown {
            for await _ in changes where isEnough() { return }
            // The kernel has no more watches (fs.inotify.max_user_instances), so the state is polled.
            repeat { try? await Task.sleep(for: Self.pause) } while !isEnough() && !Task.isCancelled
        }
    }

    /// Listens on a new socket. Returns nil if a socket cannot be created now.
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

    /// The interval at which the socket file is polled if the kernel has no more watches. It is shorter than the time
    /// that clients wait for a started service (`ServiceLauncher`).
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

    /// Prepares a new connection. Returns nil if the connection arrives while the server is closing: nothing would use
    /// its channel then, and NIO traps if an asynchronous channel is created but never used. Arrival and closing happen
    /// one after the other, because there is only one event loop.
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
