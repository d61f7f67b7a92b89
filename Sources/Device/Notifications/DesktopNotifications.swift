import CSystemd
import Foundation
import Glibc
import Synchronization

/// The notification server of the user's session (org.freedesktop.Notifications), and the badges that docks show.
///
/// Every method may be called from any thread and blocks for no longer than a lock. One thread listens; it sleeps in poll(2)
/// until somebody says something. Where there is no session bus it waits for one to appear; a bus that goes away is connected
/// to again.
package final class DesktopNotifications: Sendable {
    /// What happens, in order. For one reader. Ends with ``shutdown()``.
    package let events: AsyncStream<DesktopEvent>

    private let board: DesktopBoard
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
        board = DesktopBoard(continuation: continuation)
    }

    deinit {
        board.end()
    }

    /// Begins to listen, the first time it is called.
    package func start() {
        guard board.begin() else { return }
        let thread = Thread { [board, environment, session] in
            DesktopListener(board: board, environment: environment, session: session).run()
        }
        thread.name = "notifications"
        thread.stackSize = 256 << 10
        thread.start()
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

/// Where the thread that listens to the session's bus and everybody else meet.
final class DesktopBoard: Sendable {
    private struct State {
        var requests: [DesktopRequest] = []
        var hasBegun = false
        var isEnded = false
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<DesktopEvent>.Continuation
    /// An eventfd(2), readable when there is something to do; closed with this object, so that nobody uses the number of
    /// another file.
    let descriptor: Int32

    init(continuation: AsyncStream<DesktopEvent>.Continuation) {
        self.continuation = continuation
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    }

    deinit {
        close(descriptor)
    }

    /// False when it has begun before, or ended.
    func begin() -> Bool {
        state.withLock { state in
            let isFirst = !state.hasBegun && !state.isEnded
            state.hasBegun = true
            return isFirst
        }
    }

    func end() {
        state.withLock { $0.isEnded = true }
        continuation.finish()
        wake()
    }

    func ask(_ request: DesktopRequest) {
        state.withLock { state in
            if !state.isEnded { state.requests.append(request) }
        }
        wake()
    }

    /// For the thread that listens: what it is to do now, and whether that is all there will be. Takes the readiness of
    /// ``descriptor`` away.
    func takeRequests() -> (requests: [DesktopRequest], isEnded: Bool) {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        return state.withLock { state in
            defer { state.requests = [] }
            return (state.requests, state.isEnded)
        }
    }

    func tell(_ event: DesktopEvent) {
        continuation.yield(event)
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }
}
