/// The UnifiedPush distributor on the session bus (UnifiedPush D-Bus 0.3.0), which supports both versions of the
/// interfaces.
///
/// Every method may be called from any thread, and blocks for no longer than a lock. One thread listens.
package final class UnifiedPushDistributor: Sendable {
    /// A stream of the events in order. The stream supports one reader and ends with ``shutdown()``.
    package var events: AsyncStream<DistributorEvent> { thread.events }

    private let thread: PollThread<DistributorRequest, DistributorEvent>

    /// - Parameters:
    ///   - environment: the environment of the service, which may contain the address of the session bus.
    ///   - session: a function that returns the current environment that the systemd user manager gives to the programs
    ///     it starts. It may block for a moment.
    package init(environment: [String: String], session: @escaping @Sendable () -> [String: String]? = { nil }) {
        thread = SessionListener<DistributorConnection>.thread(
            "unifiedpush", environment: environment, session: session)
    }

    deinit {
        thread.stop()
    }

    /// Starts listening. Later calls have no effect.
    package func start() {
        thread.start()
    }

    /// Makes the thread stop listening soon, after it has sent all requests.
    package func shutdown() {
        thread.stop()
    }

    package func perform(_ request: DistributorRequest) {
        thread.send(request)
    }
}
