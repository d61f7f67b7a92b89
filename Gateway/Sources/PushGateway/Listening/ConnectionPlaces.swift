import NIOCore
import Synchronization

/// The open connections, by name. A ``PlaceTable`` decides which connections may stay open.
final class ConnectionPlaces: Sendable {
    private struct State {
        var table = PlaceTable<ObjectIdentifier>()
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    private let state = Mutex(State())

    var taken: Int { state.withLock { $0.channels.count } }
    var channels: [any Channel] { state.withLock { Array($0.channels.values) } }

    func enter(_ channel: any Channel, limit: Int) -> Bool {
        let name = ObjectIdentifier(channel)
        let (enters, leaving): (Bool, (any Channel)?) = state.withLock { state in
            let entry = state.table.enter(name, limit: limit)
            guard entry != .refused else { return (false, nil) }
            state.channels[name] = channel
            guard case .replaces(let stranger) = entry else { return (true, nil) }
            return (true, state.channels.removeValue(forKey: stranger))
        }
        if let leaving { Self.cut(leaving) }
        return enters
    }

    func proved(_ channel: ObjectIdentifier) {
        state.withLock { $0.table.proved(channel) }
    }

    func leave(_ channel: ObjectIdentifier) {
        let channel = state.withLock { state in
            state.table.leave(channel)
            return state.channels.removeValue(forKey: channel)
        }
        // Release the connection outside the lock, because this may be its last reference.
        withExtendedLifetime(channel) {}
    }

    func hasShrunk() -> Bool {
        state.withLock { $0.table.hasShrunk() }
    }

    /// Closes a connection without waiting for TLS's close_notify, which a peer could delay.
    private static func cut(_ channel: any Channel) {
        channel.eventLoop.execute {
            let first = try? channel.pipeline.syncOperations.context(handlerType: BackPressureHandler.self)
            first?.close(promise: nil)
        }
    }
}
