package import Glibc
package import Logging
package import Operations
import ServiceLifecycle

/// The local API: HTTP/1.1 and JSON on the Unix socket of the user. The API gives access to transfers, apps, the
/// device, and operations that combine several of these.
///
/// The API only translates requests and makes no decisions. Every response has the field `Nightshift-Version`. Every
/// error is a problem document (RFC 9457).
package struct LocalAPIServer: Service {
    private let server: SocketServer
    private let onListening: @Sendable () async -> Void

    /// Creates a server for the API.
    ///
    /// - Parameters:
    ///   - owner: The user who is served, together with root.
    ///   - changes: Returns a stream with an event whenever the file at a path may have been removed, or one of its
    ///     folders may exist again. The stream finishes immediately if changes cannot be watched. If the socket was
    ///     removed, the service listens on a new one as soon as possible.
    ///   - onListening: Called once, when connections are accepted.
    ///   - onLargeRequest: Called after each request whose body or response needed much memory. It must return
    ///     immediately.
    ///   - onShutdownRequest: Called for `POST /v1/shutdown` to stop the whole service. It must return immediately.
    package init(
        operations: Operations, device: DeviceAccess, socket: ListeningSocket,
        owner: uid_t = geteuid(),
        limits: ConnectionLimits = ConnectionLimits(), logger: Logger,
        changes: @escaping @Sendable (_ path: String) -> AsyncStream<Void>,
        onListening: @escaping @Sendable () async -> Void = {},
        onLargeRequest: @escaping @Sendable () -> Void = {},
        onShutdownRequest: @escaping @Sendable () -> Void
    ) {
        let routes = Routes(operations, device: device, stop: onShutdownRequest)
        let dispatcher = Dispatcher(routes: routes.all, onLargeRequest: onLargeRequest, logger: logger)
        server = SocketServer(
            socket: socket, owner: owner, limits: limits, logger: logger, changes: changes,
            respond: dispatcher.respond, refuse: Dispatcher.refuse)
        self.onListening = onListening
    }

    /// Serves until graceful shutdown. Then it stops accepting connections, ends event streams, and gives requests one
    /// second to finish.
    package func run() async throws {
        try await server.run(onListening: onListening)
    }
}
