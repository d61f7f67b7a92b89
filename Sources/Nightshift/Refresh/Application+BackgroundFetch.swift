public import Foundation
import NightshiftAPI

extension Application {
    /// The interval that lets the service decide how often to fetch.
    public nonisolated static let backgroundFetchIntervalMinimum: TimeInterval = 0
    /// The interval that disables background fetches. This is the default.
    public nonisolated static let backgroundFetchIntervalNever: TimeInterval = .greatestFiniteMagnitude

    /// Sets the minimum number of seconds between two background fetches. After that time, the service decides when to
    /// fetch.
    ///
    /// Returns at once. The service receives the interval asynchronously, and again after each reconnection. It keeps
    /// the interval until the app sets another one or is removed. The user's settings take precedence. Without the mode
    /// `fetch` in the app's desktop entry, the interval has no effect; a line on standard error says so.
    ///
    /// - Parameter minimumBackgroundFetchInterval: Seconds, at most a year; or ``backgroundFetchIntervalMinimum`` or
    ///   ``backgroundFetchIntervalNever``.
    public func setMinimumBackgroundFetchInterval(_ minimumBackgroundFetchInterval: TimeInterval) {
        connection.refresh.setInterval(RefreshInterval(timeInterval: minimumBackgroundFetchInterval))
    }

    /// Whether the app is refreshed in the background.
    ///
    /// The value is the last one that the service sent. Only the first call may have to wait for it, for at most 2 s.
    /// Without a service, the value is ``BackgroundRefreshStatus/restricted``.
    /// ``backgroundRefreshStatusDidChangeNotification`` is posted when the value changes.
    public var backgroundRefreshStatus: BackgroundRefreshStatus {
        BackgroundRefreshStatus(connection.refresh.availability)
    }

    /// Posted on the main thread when ``backgroundRefreshStatus`` has changed. The name is UIKit's.
    public nonisolated static let backgroundRefreshStatusDidChangeNotification = Notification.Name(
        "UIApplicationBackgroundRefreshStatusDidChangeNotification")

    /// Prints advice when the delegate's own fetch method was not called. The delegate may still have one that does not
    /// satisfy the protocol.
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
