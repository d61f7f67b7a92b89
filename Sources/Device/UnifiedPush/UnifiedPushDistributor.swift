/// The distributor of UnifiedPush on the session's bus (UnifiedPush D-Bus 0.3.0), both versions of its interfaces.
///
/// Every method may be called from any thread and blocks for no longer than a lock. One thread listens.
package final class UnifiedPushDistributor: Sendable {
    /// What happens, in order. For one reader. Ends with ``shutdown()``.
    package let events: AsyncStream<DistributorEvent>

    private let board: SessionBoard<DistributorRequest, DistributorEvent>
    private let environment: [String: String]
    private let session: @Sendable () -> [String: String]?

    /// - Parameters:
    ///   - environment: that of the service; it may say where the session's bus is.
    ///   - session: what the session's manager gives to what it starts, as of now; may block for a moment.
    package init(environment: [String: String], session: @escaping @Sendable () -> [String: String]? = { nil }) {
        self.environment = environment
        self.session = session
        let (events, continuation) = AsyncStream.makeStream(of: DistributorEvent.self)
        self.events = events
        board = SessionBoard(continuation: continuation)
    }

    deinit {
        board.end()
    }

    /// Begins to listen, the first time it is called.
    package func start() {
        SessionListener<DistributorConnection>.start("unifiedpush", board, environment: environment, session: session)
    }

    /// Ends listening, soon, once what was asked is sent.
    package func shutdown() {
        board.end()
    }

    package func perform(_ request: DistributorRequest) {
        board.ask(request)
    }
}
