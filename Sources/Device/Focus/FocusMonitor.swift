import Foundation
package import NightshiftAPI

/// What its user has in front, as the desktop itself tells.
///
/// A Wayland compositor is asked by wlr-foreign-toplevel-management, an X server by its window manager's
/// `_NET_ACTIVE_WINDOW`. Every method may be called from any thread and blocks for no longer than a lock. One thread
/// listens; it sleeps in poll(2) until somebody says something. Where there is no display it waits for one to appear.
package final class FocusMonitor: Sendable {
    /// The application in front, each time that another one is, or none; the first value is the one that is found. Changes
    /// that nobody has seen yet are one. For one reader. Ends with ``shutdown()``.
    package let fronts: AsyncStream<FrontApplication?>

    private let board: FocusBoard
    private let environment: [String: String]
    private let session: @Sendable () -> [String: String]?

    /// - Parameters:
    ///   - environment: that of the service.
    ///   - session: what the session's manager gives to what it starts, as of now; may block for a moment.
    package init(environment: [String: String], session: @escaping @Sendable () -> [String: String]? = { nil }) {
        self.environment = environment
        self.session = session
        let (fronts, continuation) = AsyncStream.makeStream(
            of: FrontApplication?.self, bufferingPolicy: .bufferingNewest(1))
        self.fronts = fronts
        board = FocusBoard(continuation: continuation)
    }

    deinit {
        board.end()
    }

    package var report: FocusReport { board.report }

    /// Begins to listen, the first time it is called.
    package func start() {
        guard board.begin() else { return }
        let thread = Thread { [board, environment, session] in
            FocusListener(board: board, environment: environment, session: session).run()
        }
        thread.name = "focus"
        thread.stackSize = 256 << 10
        thread.start()
    }

    /// Ends listening, soon.
    package func shutdown() {
        board.end()
    }
}
