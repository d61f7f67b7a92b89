import Foundation

/// A listener on one loopback port, which can be closed and reopened. The port stays reserved throughout: while the
/// listener is closed, the port refuses connections, and no other process gets it.
final class Acceptor: Sendable {
    let host: Loopback
    let port: UInt16
    private let onConnection: @Sendable (Socket) -> Void
    private let listener: Socket
    /// Whether the listener's thread is running.
    private let isOpen = Watched(false)

    init(host: Loopback, port: UInt16, onConnection: @escaping @Sendable (Socket) -> Void) throws {
        listener = try Socket.listening(on: host, port: port)
        self.host = host
        self.port = listener.port
        self.onConnection = onConnection
        run()
    }

    deinit {
        if close() { listener.close() }
    }

    /// Listens on the same port again. Does nothing if it already listens.
    func open() throws {
        guard !isOpen.read({ $0 }) else { return }
        try listener.listen()
        run()
    }

    /// Stops listening, so that the port refuses connections.
    ///
    /// - Returns: whether the listener's thread has ended.
    @discardableResult func close() -> Bool {
        isOpen.update { if $0 { listener.shutdown() } }
        return isOpen.block(within: .seconds(5)) { !$0 }
    }

    private func run() {
        isOpen.update { $0 = true }
        Thread.detachNewThread { [listener, isOpen, onConnection] in
            while let connection = listener.accepted() { onConnection(connection) }
            isOpen.update { $0 = false }
        }
    }
}
