import Synchronization
package import Transfers

/// A network that is there or not, as it is told.
package final class ManualNetwork: Sendable {
    private struct State {
        var isAvailable = true
        var watchers: [AsyncStream<Void>.Continuation] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var isAvailable: Bool { state.withLock { $0.isAvailable } }

    /// What a service follows; each service that is started takes a feed of its own.
    package func feed() -> TransferService.NetworkFeed {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.watchers.append(continuation) }
        return TransferService.NetworkFeed(isAvailable: { self.isAvailable }, changes: stream)
    }

    package func set(available: Bool) {
        let watchers = state.withLock { state in
            state.isAvailable = available
            return state.watchers
        }
        for watcher in watchers { watcher.yield() }
    }

    /// Nobody who follows hears of anything any more.
    package func forgetWatchers() {
        state.withLock { $0.watchers = [] }
    }
}
