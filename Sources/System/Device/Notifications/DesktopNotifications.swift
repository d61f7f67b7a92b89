/// The notification server of the user's session (org.freedesktop.Notifications), and the badges that docks show.
///
/// Every method may be called from any thread, and blocks for no longer than a lock. One thread listens. It sleeps in
/// poll(2) until an event arrives. Without a session bus, it waits for one to appear. It reconnects to a bus that was
/// lost.
package final class DesktopNotifications: Sendable {
    /// A stream of the events in order. The stream supports one reader and ends with ``shutdown()``.
    package var events: AsyncStream<DesktopEvent> { thread.events }

    private let thread: PollThread<DesktopRequest, DesktopEvent>

    /// - Parameters:
    ///   - environment: the environment of the service, which may contain the address of the session bus.
    ///   - session: a function that returns the current environment that the systemd user manager gives to the programs
    ///     it starts. It may block for a moment.
    package init(environment: [String: String], session: @escaping @Sendable () -> [String: String]? = { nil }) {
        thread = SessionListener<DesktopConnection>.thread("notifications", environment: environment, session: session)
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

    /// Sends a notification to the current server. ``DesktopEvent/shown(token:number:)`` or
    /// ``DesktopEvent/refused(token:isGone:detail:)`` reports the result.
    package func show(_ notification: DesktopNotification, token: Int64) {
        thread.send(.show(notification, token: token))
    }

    /// Closes a notification, if the server with that identity is still running.
    package func close(_ number: UInt32, server: String) {
        thread.send(.close(number, server: server))
    }

    /// Sends docks the number to show on an app's icon (com.canonical.Unity.LauncherEntry); 0 removes it.
    package func setBadge(_ count: Int, of entry: String) {
        thread.send(.badge(entry: entry, count: count))
    }

    /// Makes the bus start a notification server. This has no effect if the bus knows no server that it can start.
    package func startServer() {
        thread.send(.startServer)
    }
}
