import Foundation
package import NightshiftAPI

/// A monitor of the foreground application, as the desktop reports it.
///
/// A Wayland compositor reports it through wlr-foreign-toplevel-management, an X server through its window manager's
/// `_NET_ACTIVE_WINDOW`. Every method may be called from any thread, and blocks for no longer than a lock. One thread
/// listens. It sleeps in poll(2) until an event arrives. Without a display, the thread waits for one to appear.
package final class FocusMonitor: Sendable {
    /// A stream of the foreground application, which yields a value after each change; nil means that no application is
    /// in the foreground. The first value is the application at the start. Changes that have not been read yet are
    /// merged into one. The stream supports one reader and ends with ``shutdown()``.
    package let fronts: AsyncStream<FrontApplication?>

    private let board: FocusChannel
    private let environment: [String: String]
    private let session: @Sendable () -> [String: String]?

    /// - Parameters:
    ///   - environment: the environment of the service.
    ///   - session: a function that returns the current environment that the systemd user manager gives to the programs
    ///     it starts. It may block for a moment.
    package init(environment: [String: String], session: @escaping @Sendable () -> [String: String]? = { nil }) {
        self.environment = environment
        self.session = session
        let (fronts, continuation) = AsyncStream.makeStream(
            of: FrontApplication?.self, bufferingPolicy: .bufferingNewest(1))
        self.fronts = fronts
        board = FocusChannel(continuation: continuation)
    }

    deinit {
        board.end()
    }

    package var report: FocusReport { board.report }

    /// Starts listening. Later calls have no effect.
    package func start() {
        guard board.begin() else { return }
        let thread = Thread { [board, environment, session] in
            FocusListener(board: board, environment: environment, session: session).run()
        }
        thread.name = "focus"
        thread.stackSize = 256 << 10
        thread.start()
    }

    /// Makes the thread stop listening soon.
    package func shutdown() {
        board.end()
    }
}
