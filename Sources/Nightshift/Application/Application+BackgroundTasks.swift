public import Foundation
import NightshiftAPI

extension Application {
    /// Begins work that is to be finished although the app goes to the background: until it is ended, the app is not suspended.
    ///
    /// For any thread, in the foreground and in the background, as many at once as are needed (1,000). Returns with the service's
    /// answer, after some milliseconds; a service that does not answer is waited for 2 s, once. An app in the foreground has its
    /// task then all the same, and the service hears of it when it is back.
    ///
    /// All tasks of an app share one time in the background, ``backgroundTimeRemaining``. A few seconds before it is over every
    /// open task's handler is called. An app that has not ended all of its tasks when it is over is ended
    /// (`taskOverdue`, 0x2182bad2).
    ///
    /// - Parameters:
    ///   - taskName: shown by `nightshift app show` and in the journal, 256 bytes at most; nil or nothing stands for the caller's name.
    ///   - handler: called on the main thread, once, in the order in which the tasks were begun; the place to stop the work and to
    ///     end the task. The next handler waits for it to return.
    ///   - caller: leave it out.
    /// - Returns: what ``endBackgroundTask(_:)`` takes, or ``BackgroundTaskIdentifier/invalid`` where no background time can be
    ///   had: ``backgroundTaskRefusal`` says why.
    public nonisolated func beginBackgroundTask(
        withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil,
        caller: String = #function
    ) -> BackgroundTaskIdentifier {
        let name = taskName.flatMap { $0.isEmpty ? nil : $0 } ?? caller
        let number = connection.backgroundTasks.begin(name, handler)
        return number.map { BackgroundTaskIdentifier(rawValue: Int($0)) } ?? .invalid
    }

    /// As ``beginBackgroundTask(withName:expirationHandler:caller:)``, under the caller's name.
    public nonisolated func beginBackgroundTask(
        expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil, caller: String = #function
    ) -> BackgroundTaskIdentifier {
        beginBackgroundTask(withName: nil, expirationHandler: handler, caller: caller)
    }

    /// Ends a background task; when it was the last one, an app in the background is suspended.
    ///
    /// For any thread. Returns at once; the service is told in the order of the calls. Ending a task for a second time, or
    /// ``BackgroundTaskIdentifier/invalid``, does nothing.
    public nonisolated func endBackgroundTask(_ identifier: BackgroundTaskIdentifier) {
        connection.backgroundTasks.end(Int64(identifier.rawValue))
    }

    /// Seconds that the app's background tasks have left together; `.greatestFiniteMagnitude` in the foreground, and wherever
    /// nobody limits them.
    ///
    /// For any thread, as often as wanted: read from memory that the service writes. Under the opportunistic policy it stands
    /// still while the device dozes.
    public nonisolated var backgroundTimeRemaining: TimeInterval {
        min(connection.backgroundTasks.remaining, .greatestFiniteMagnitude)
    }

    /// Why the last background task that could not be had was refused, in the service's words; nil while none has been.
    public nonisolated var backgroundTaskRefusal: String? { connection.backgroundTasks.refusal }
}
