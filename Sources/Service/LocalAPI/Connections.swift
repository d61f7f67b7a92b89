import HTTPServing
import NIOCore
import Synchronization

/// The open connections and the listening channel, so that they can be closed when the service stops.
final class Connections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var listener: (any Channel)?
        var isStopping = false
    }

    private let state = Mutex(State())

    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Adds a connection to the list until it closes.
    func insert(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let isStopping = state.withLock {
            $0.channels[id] = channel
            return $0.isStopping
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { $0.channels[id] = nil }
        }
        if isStopping { Self.quiesce(channel) }
    }

    /// Replaces the listening channel.
    func listen(_ channel: any Channel) {
        let old = state.withLock { state in
            guard !state.isStopping else { return Optional(channel) }
            defer { state.listener = channel }
            return state.listener
        }
        old?.close(promise: nil)
    }

    /// Stops accepting connections. Connections without a request are closed immediately, and the others after their
    /// responses.
    func quiesce() {
        let (channels, listener) = state.withLock { state in
            state.isStopping = true
            return (Array(state.channels.values), state.listener)
        }
        for channel in channels { Self.quiesce(channel) }
        listener?.close(promise: nil)
    }

    /// Closes all remaining connections immediately.
    func close() {
        for channel in state.withLock({ Array($0.channels.values) }) {
            channel.triggerUserOutboundEvent(CloseTimeout(), promise: nil)
            channel.close(promise: nil)
        }
    }

    private static func quiesce(_ channel: any Channel) {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }
}
