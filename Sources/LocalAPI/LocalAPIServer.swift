package import Glibc
package import Logging
package import Operations
import ServiceLifecycle

/// The local API: HTTP/1.1 and JSON on the user's Unix socket, in front of transfers, apps, the operations that join them, and
/// the device.
///
/// Translates and decides nothing. Every answer carries `Nightshift-Version`; every error is a problem document
/// (RFC 9457).
package struct LocalAPIServer: Service {
    private let server: SocketServer
    private let onListening: @Sendable () async -> Void

    /// - Parameters:
    ///   - owner: The user who is served, with root.
    ///   - changes: An element whenever the file at a path may be gone, or a folder on its way may be there again; finished at
    ///     once where nobody can tell. A service whose socket is gone listens on a new one as soon as it can.
    ///   - onListening: Called once, when connections are accepted.
    ///   - onLargeRequest: Called behind each request that took, or whose answer took, much memory; has to return at once.
    ///   - onShutdownRequest: Begins the stop of the whole service, for `POST /v1/shutdown`; has to return at once.
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

    /// Serves until graceful shutdown: accepts nothing more, ends event streams, lets requests finish for a second.
    package func run() async throws {
        try await server.run(onListening: onListening)
    }
}
