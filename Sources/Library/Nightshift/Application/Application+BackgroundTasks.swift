public import Foundation
import NightshiftAPI

extension Application {
    /// Begins work that must be finished even if the app goes to the background. The app is not suspended until the
    /// task is ended.
    ///
    /// You can call this method on any thread, in the foreground and in the background. Up to 1,000 tasks can be open
    /// at once. The method returns when the service has answered, which takes some milliseconds. If the service does
    /// not answer, the first call waits 2 s and later calls do not wait. An app in the foreground gets its task even
    /// without an answer. In that case, the library reports the task to the service when the service can be reached
    /// again.
    ///
    /// All tasks of an app share one budget of background time, ``backgroundTimeRemaining``. A few seconds before the
    /// budget is used up, the handler of every open task is called. An app that still has open tasks when the budget is
    /// used up is terminated (`taskOverdue`, 0x2182bad2).
    ///
    /// - Parameters:
    ///   - taskName: The name shown by `nightshift app show` and in the journal, at most 256 bytes. If it is nil or
    ///     empty, the name of the calling function is used.
    ///   - handler: The handler that stops the work and ends the task. Handlers are called on the main thread, once
    ///     each, in the order in which the tasks were begun. Each call waits until the previous handler has returned.
    ///   - caller: Do not pass this argument.
    /// - Returns: The identifier for ``endBackgroundTask(_:)``, or ``BackgroundTaskIdentifier/invalid`` if the app has
    ///   no background time. ``backgroundTaskRefusal`` then gives the reason.
    public nonisolated func beginBackgroundTask(
        withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil,
        caller: String = #function
    ) -> BackgroundTaskIdentifier {
        let name = taskName.flatMap { $0.isEmpty ? nil : $0 } ?? caller
        let number = connection.backgroundTasks.begin(name, handler)
        return number.map { BackgroundTaskIdentifier(rawValue: Int($0)) } ?? .invalid
    }

    /// Begins a background task that is named after the calling function. In all other respects, this method is the
    /// same as ``beginBackgroundTask(withName:expirationHandler:caller:)``.
    public nonisolated func beginBackgroundTask(
        expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil, caller: String = #function
    ) -> BackgroundTaskIdentifier {
        beginBackgroundTask(withName: nil, expirationHandler: handler, caller: caller)
    }

    /// Ends a background task. When an app in the background ends its last task, the app is suspended.
    ///
    /// You can call this method on any thread. It returns at once, and the service is notified in the order of the
    /// calls. Calls for ``BackgroundTaskIdentifier/invalid``, or for a task that has already ended, do nothing.
    public nonisolated func endBackgroundTask(_ identifier: BackgroundTaskIdentifier) {
        connection.backgroundTasks.end(Int64(identifier.rawValue))
    }

    /// The background time in seconds that remains for all background tasks together. The value is
    /// `.greatestFiniteMagnitude` in the foreground, and whenever the time is not limited.
    ///
    /// You can read this property on any thread and as often as you want, because the library reads the value from
    /// memory that the service updates. Under the opportunistic policy, the time does not decrease while the device
    /// dozes.
    public nonisolated var backgroundTimeRemaining: TimeInterval {
        min(connection.backgroundTasks.remaining, .greatestFiniteMagnitude)
    }

    /// The service's reason for the last refusal of a background task. The value is nil if no task was refused.
    public nonisolated var backgroundTaskRefusal: String? { connection.backgroundTasks.refusal }
}
