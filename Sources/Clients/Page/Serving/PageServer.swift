import Glibc
import HTTPServing
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import Synchronization

/// The HTTP/1.1 server of the page on a port of 127.0.0.1. It handles connections, checks their users, enforces limits,
/// and ends after the last visitor.
///
/// Without a visitor, only one timer runs, which ends the server.
package struct PageServer: Sendable {
    /// The port; 0 if the kernel chooses it.
    package var port: Int
    /// The time without a visitor after which the server ends.
    package var timeout: Duration
    package var site: PageSite
    /// The path of the Unix socket that gives out links; nil for none.
    package var linkSocket: String?
    package var logger: Logger

    package init(port: Int, timeout: Duration, site: PageSite, linkSocket: String?, logger: Logger) {
        self.port = port
        self.timeout = timeout
        self.site = site
        self.linkSocket = linkSocket
        self.logger = logger
    }

    /// The maximum number of concurrent connections. A browser opens at most six.
    private static let mostConnections = 64
    /// The longest pause within a request, and between two requests of a connection.
    private static let idleTimeout = TimeAmount.seconds(30)

    private struct Connection: Sendable {
        var http: HTTP1Channel
        var channel: HTTP1Channel.Value
        var wire: any Channel
    }

    /// Serves until there has been no visitor for ``timeout``.
    ///
    /// - Parameter onListening: called once, with a link that lets one browser in.
    package func run(onListening: @Sendable (_ link: String) throws -> Void) async throws {
        try await LoopbackServer.withEventLoop { group in try await serve(on: group, onListening: onListening) }
    }

    private func serve(
        on group: MultiThreadedEventLoopGroup, onListening: @Sendable (_ link: String) throws -> Void
    ) async throws {
        // The session needs the port, which is known only after the socket is bound. No client can connect before.
        let holder = SessionHolder()
        let loopback = LoopbackServer(port: port, mostConnections: Self.mostConnections, logger: logger)
        let listener = try await loopback.open(on: group) { channel in setUp(channel, holder) }
        let visits = VisitorTracker(timeout: timeout, on: listener.channel.eventLoop) {
            listener.channel.close(promise: nil)
        }
        let session = PageSession(site: site, port: listener.port, visits: visits, logger: logger)
        holder.set(session)
        let links = try await openLinkSocket(on: group, session)
        defer {
            if let linkSocket, links != nil { unlink(linkSocket) }
        }
        try onListening(session.newLink())
        visits.open()
        await loopback.serve(listener) { connection in
            await withTaskCancellationHandler {
                await connection.http.handle(value: connection.channel, logger: logger)
            } onCancel: {
                connection.wire.triggerUserOutboundEvent(CloseTimeout(), promise: nil)
            }
        }
        try? await links?.close()
    }

    private func openLinkSocket(on group: MultiThreadedEventLoopGroup, _ session: PageSession) async throws -> (
        any Channel
    )? {
        guard let linkSocket else { return nil }
        return try await LinkSocket.open(linkSocket, on: group) { session.newLink() }
    }

    /// Sets up a connection. Returns nil, and closes the connection, while there is no session.
    private func setUp(_ channel: any Channel, _ holder: SessionHolder) -> EventLoopFuture<Connection?> {
        guard let session = holder.session else {
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

/// A container for the server's session, which is created when the port is known.
private final class SessionHolder: Sendable {
    private let kept = Mutex<PageSession?>(nil)

    var session: PageSession? { kept.withLock { $0 } }

    func set(_ session: PageSession) {
        kept.withLock { $0 = session }
    }
}
