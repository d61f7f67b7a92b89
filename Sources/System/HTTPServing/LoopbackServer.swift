import HummingbirdCore
package import Logging
package import NIOCore
package import NIOPosix

/// A server on a port of 127.0.0.1 that accepts connections of this user and of root only.
package struct LoopbackServer: Sendable {
    /// The port; 0 if the kernel chooses it.
    package var port: Int
    /// The maximum number of concurrent connections. Others wait in the kernel.
    package var mostConnections: Int
    /// A listening socket that another process opened; nil for a new one.
    package var descriptor: Int32?
    package var logger: Logger

    package init(port: Int, mostConnections: Int, descriptor: Int32? = nil, logger: Logger) {
        self.port = port
        self.mostConnections = mostConnections
        self.descriptor = descriptor
        self.logger = logger
    }

    package static let host = "127.0.0.1"

    /// Runs a server on an event loop of its own, and ends the loop with it.
    package static func withEventLoop(_ serve: (MultiThreadedEventLoopGroup) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            try await serve(group)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    /// The listening socket, and the connections that it accepts.
    package struct Listener<Connection: Sendable>: Sendable {
        fileprivate var server: NIOAsyncChannel<Connection?, Never>
        package var port: Int

        package var channel: any Channel { server.channel }
    }

    /// Opens the socket. Connections are accepted only after ``serve(_:connection:)`` has begun.
    ///
    /// - Parameter setUp: sets up the channel of a connection of this user or of root; returns nil to close it.
    /// - Throws: an `IOError` if the port cannot be used.
    package func open<Connection: Sendable>(
        on group: MultiThreadedEventLoopGroup,
        setUp: @escaping @Sendable (any Channel) -> EventLoopFuture<Connection?>
    ) async throws -> Listener<Connection> {
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { [mostConnections] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AvailableConnectionsChannelHandler(maxConnections: mostConnections))
                }
            }
        let prepare: @Sendable (any Channel) -> EventLoopFuture<Connection?> = { [logger] channel in
            guard PeerCheck.isOwn(channel) else {
                logger.warning("connection of another user refused")
                channel.close(promise: nil)
                return channel.eventLoop.makeSucceededFuture(nil)
            }
            return setUp(channel)
        }
        let server =
            if let descriptor {
                try await bootstrap.bind(descriptor, childChannelInitializer: prepare)
            } else {
                try await bootstrap.bind(host: Self.host, port: port, childChannelInitializer: prepare)
            }
        guard let port = server.channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        return Listener(server: server, port: port)
    }

    /// Serves connections until the listening socket is closed.
    ///
    /// - Parameter connection: serves one connection to its end. It is cancelled when the server ends.
    package func serve<Connection: Sendable>(
        _ listener: Listener<Connection>, connection serve: @escaping @Sendable (Connection) async -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            do {
                try await listener.server.executeThenClose { inbound in
                    for try await connection in inbound {
                        guard let connection else { continue }
                        group.addTask { await serve(connection) }
                    }
                }
            } catch {
                logger.error("accepting connections ended", metadata: ["error": "\(error)"])
            }
            group.cancelAll()
        }
    }
}
