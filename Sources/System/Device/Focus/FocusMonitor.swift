package import NightshiftAPI
import Synchronization

/// A monitor of the foreground application, as the desktop reports it.
///
/// A Wayland compositor reports it through wlr-foreign-toplevel-management, an X server through its window manager's
/// `_NET_ACTIVE_WINDOW`. Every method may be called from any thread, and blocks for no longer than a lock. One thread
/// listens. It sleeps in poll(2) until an event arrives. Without a display, the thread waits for one to appear.
package final class FocusMonitor: Sendable {
    /// A stream of the foreground application, which yields a value after each change; nil means that no application is
    /// in the foreground. The first value is the application at the start. Changes that have not been read yet are
    /// merged into one. The stream supports one reader and ends with ``shutdown()``.
    package var fronts: AsyncStream<FrontApplication?> { thread.events }

    private let latest: LatestFocusReport
    private let thread: PollThread<Never, FrontApplication?>

    /// - Parameters:
    ///   - environment: the environment of the service.
    ///   - session: a function that returns the current environment that the systemd user manager gives to the programs
    ///     it starts. It may block for a moment.
    package init(environment: [String: String], session: @escaping @Sendable () -> [String: String]? = { nil }) {
        let latest = LatestFocusReport()
        self.latest = latest
        thread = PollThread("focus", buffering: .bufferingNewest(1)) {
            FocusListener($0, latest, environment: environment, session: session)
        }
    }

    deinit {
        thread.stop()
    }

    package var report: FocusReport { latest.report.withLock(\.self) }

    /// Starts listening. Later calls have no effect.
    package func start() {
        thread.start()
    }

    /// Makes the thread stop listening soon.
    package func shutdown() {
        thread.stop()
    }
}

/// The latest report of a ``FocusMonitor``, which its thread writes.
final class LatestFocusReport: Sendable {
    let report = Mutex(FocusReport.nobody("not checked yet"))
}
