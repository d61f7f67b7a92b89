import Foundation

/// Accepts connections on one loopback port; can close the port and open it again.
final class Acceptor: Sendable {
    let host: Loopback
    let port: UInt16
    private let onConnection: @Sendable (Socket) -> Void
    private let state: Watched<State>

    private struct State {
        var listener: Socket?
        var hasThread = false
    }

    init(host: Loopback, port: UInt16, onConnection: @escaping @Sendable (Socket) -> Void) throws {
        let listener = try Socket.listening(on: host, port: port)
        self.host = host
        self.port = listener.port
        self.onConnection = onConnection
        state = Watched(State())
        run(listener)
    }

    /// Listens on the same port again; does nothing where it still does.
    func open() throws {
        guard state.read({ $0.listener == nil }) else { return }
        run(try Socket.listening(on: host, port: port))
    }

    /// Stops listening: from now on connections are refused.
    func close() {
        state.update { $0.listener?.shutdown() }
        _ = state.block(within: .seconds(5)) { !$0.hasThread }
    }

    private func run(_ listener: Socket) {
        state.update { $0 = State(listener: listener, hasThread: true) }
        Thread.detachNewThread { [state, onConnection] in
            while let connection = listener.accepted() { onConnection(connection) }
            state.update {
                $0 = State()
                listener.close()
            }
        }
    }
}
