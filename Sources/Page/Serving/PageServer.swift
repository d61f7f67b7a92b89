import HTTPServing
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import Synchronization

/// HTTP/1.1 on a port of 127.0.0.1 that the kernel has chosen: connections, whose they are, limits, and the end when nobody
/// looks any more.
///
/// Without a visitor nothing here runs but one timer, which ends it.
package struct PageServer: Sendable {
    /// Zero for one that the kernel chooses.
    package var port: Int
    /// How long it waits for a visitor.
    package var patience: Duration
    package var site: PageSite
    package var logger: Logger

    package init(port: Int, patience: Duration, site: PageSite, logger: Logger) {
        self.port = port
        self.patience = patience
        self.site = site
        self.logger = logger
    }

    /// A browser opens few connections, and one for each stream of events.
    private static let mostConnections = 64
    /// Without a byte of a request that is awaited or half here.
    private static let idleTimeout = TimeAmount.seconds(30)
    private static let loopback = "127.0.0.1"

    private struct Connection: Sendable {
        var http: HTTP1Channel
        var channel: HTTP1Channel.Value
        var wire: any Channel
    }

    /// Serves until nobody has looked for a while.
    ///
    /// - Parameter onListening: called once, with the link that lets a browser in.
    package func run(onListening: @Sendable (_ link: String) throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            try await serve(on: group, onListening: onListening)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    private func serve(
        on group: MultiThreadedEventLoopGroup, onListening: @Sendable (_ link: String) throws -> Void
    ) async throws {
        // The session has to know the port, which is known when it is bound. Nobody knows the port before.
        let holder = SessionHolder()
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AvailableConnectionsChannelHandler(maxConnections: Self.mostConnections))
                }
            }
            .bind(host: Self.loopback, port: port) { channel in setUp(channel, holder) }
        guard let port = server.channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        let visits = VisitorBook(patience: patience, on: server.channel.eventLoop) {
            server.channel.close(promise: nil)
        }
        let session = PageSession(site: site, port: port, visits: visits, logger: logger)
        holder.set(session)
        try onListening(session.link)
        visits.open()
        await accept(from: server)
    }

    private func accept(from server: NIOAsyncChannel<Connection?, Never>) async {
        await withDiscardingTaskGroup { group in
            do {
                try await server.executeThenClose { inbound in
                    for try await connection in inbound {
                        guard let connection else { continue }
                        group.addTask {
                            await withTaskCancellationHandler {
                                await connection.http.handle(value: connection.channel, logger: logger)
                            } onCancel: {
                                connection.wire.triggerUserOutboundEvent(EndOfPatience(), promise: nil)
                            }
                        }
                    }
                }
            } catch {
                logger.error("accepting connections ended", metadata: ["error": "\(error)"])
            }
            group.cancelAll()
        }
    }

    /// Nil for a connection that is not answered: the kernel does not say that it is the user's own, or root's.
    private func setUp(_ channel: any Channel, _ holder: SessionHolder) -> EventLoopFuture<Connection?> {
        guard let session = holder.session, PeerCheck.isOwn(channel) else {
            logger.warning("connection of another user refused")
            channel.close(promise: nil)
            return channel.eventLoop.makeSucceededFuture(nil)
        }
        let http = HTTP1Channel(
            responder: { request, writer, _ in try await session.respond(to: request, writer) },
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [WholeAnswerHandler()], idleTimeout: Self.idleTimeout,
                httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                    maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100)))
        return http.setup(channel: channel, logger: logger).map { Connection(http: http, channel: $0, wire: channel) }
    }
}

/// The session of a server, from when its port is known.
private final class SessionHolder: Sendable {
    private let kept = Mutex<PageSession?>(nil)

    var session: PageSession? { kept.withLock { $0 } }

    func set(_ session: PageSession) {
        kept.withLock { $0 = session }
    }
}
