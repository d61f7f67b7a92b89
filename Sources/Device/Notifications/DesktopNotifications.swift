/// The notification server of the user's session (org.freedesktop.Notifications), and the badges that docks show.
///
/// Every method may be called from any thread and blocks for no longer than a lock. One thread listens; it sleeps in poll(2)
/// until somebody says something. Where there is no session bus it waits for one to appear; a bus that goes away is connected
/// to again.
package final class DesktopNotifications: Sendable {
    /// What happens, in order. For one reader. Ends with ``shutdown()``.
    package let events: AsyncStream<DesktopEvent>

    private let board: SessionBoard<DesktopRequest, DesktopEvent>
    private let environment: [String: String]
    private let session: @Sendable () -> [String: String]?

    /// - Parameters:
    ///   - environment: that of the service; it may say where the session's bus is.
    ///   - session: what the session's manager gives to what it starts, as of now; may block for a moment.
    package init(environment: [String: String], session: @escaping @Sendable () -> [String: String]? = { nil }) {
        self.environment = environment
        self.session = session
        let (events, continuation) = AsyncStream.makeStream(of: DesktopEvent.self)
        self.events = events
        board = SessionBoard(continuation: continuation)
    }

    deinit {
        board.end()
    }

    /// Begins to listen, the first time it is called.
    package func start() {
        SessionListener<DesktopConnection>.start("notifications", board, environment: environment, session: session)
    }

    /// Ends listening, soon, once what was asked is sent.
    package func shutdown() {
        board.end()
    }

    /// Sends a notification to the server that is there; ``DesktopEvent/shown(token:number:)`` or
    /// ``DesktopEvent/refused(token:isGone:detail:)`` tells what became of it.
    package func show(_ notification: DesktopNotification, token: Int64) {
        board.ask(.show(notification, token: token))
    }

    /// Has a notification taken away, where the server of that identity is still there.
    package func close(_ number: UInt32, server: String) {
        board.ask(.close(number, server: server))
    }

    /// Tells docks the number to show on an app's icon (com.canonical.Unity.LauncherEntry); 0 for none.
    package func setBadge(_ count: Int, of entry: String) {
        board.ask(.badge(entry: entry, count: count))
    }

    /// Has the bus start a notification server, where one is installed for that.
    package func startServer() {
        board.ask(.startServer)
    }
}
