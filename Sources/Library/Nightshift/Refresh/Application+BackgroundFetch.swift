public import Foundation
import NightshiftAPI

extension Application {
    /// The interval with which the service decides how often to fetch.
    public nonisolated static let backgroundFetchIntervalMinimum: TimeInterval = 0
    /// The interval that disables background fetches. This is the default.
    public nonisolated static let backgroundFetchIntervalNever: TimeInterval = .greatestFiniteMagnitude

    /// Sets the minimum number of seconds between two background fetches. After that time, the service decides when to
    /// fetch.
    ///
    /// This method returns at once. The service receives the interval asynchronously, and again after each
    /// reconnection. The service keeps the interval until the app sets another one or is removed. The user's settings
    /// take precedence. The interval has no effect if the app's desktop entry lacks the mode `fetch`. In that case, the
    /// library prints a message on standard error.
    ///
    /// - Parameter minimumBackgroundFetchInterval: The number of seconds, at most a year. Alternatively, pass
    ///   ``backgroundFetchIntervalMinimum`` or ``backgroundFetchIntervalNever``.
    public func setMinimumBackgroundFetchInterval(_ minimumBackgroundFetchInterval: TimeInterval) {
        connection.refresh.setInterval(RefreshInterval(timeInterval: minimumBackgroundFetchInterval))
    }

    /// The availability of background refresh for the app.
    ///
    /// The value is the last one that the service sent. The first read may wait for the value for at most 2 s. If no
    /// service is running, the value is ``BackgroundRefreshStatus/restricted``.
    /// ``backgroundRefreshStatusDidChangeNotification`` is posted when the value changes.
    public var backgroundRefreshStatus: BackgroundRefreshStatus {
        BackgroundRefreshStatus(connection.refresh.availability)
    }

    /// The name of the notification that is posted on the main thread when ``backgroundRefreshStatus`` has changed. The
    /// name is the same as in UIKit.
    public nonisolated static let backgroundRefreshStatusDidChangeNotification = Notification.Name(
        "UIApplicationBackgroundRefreshStatusDidChangeNotification")

    /// Prints advice for an app whose delegate method for fetches was not called. Such a delegate may have a method
    /// whose declaration does not satisfy the protocol.
    func adviseFetchMethod(of delegate: any ApplicationDelegate) {
        guard !hasAdvisedFetchMethod else { return }
        hasAdvisedFetchMethod = true
        Notice.print(
            "The app was woken for a background fetch, but \(type(of: delegate)) does not implement the method for it. Implement "
                + "application(_:performFetchWithCompletionHandler:) in the class that declares the conformance to ApplicationDelegate."
        )
    }
}

extension RefreshInterval {
    /// Creates an interval from seconds or one of UIKit's constants.
    init(timeInterval: TimeInterval) {
        guard timeInterval < .greatestFiniteMagnitude else {
            self = .never
            return
        }
        self = timeInterval > 0 ? .seconds(min(timeInterval, Self.longest)) : .minimum
    }
}
