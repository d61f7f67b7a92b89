public import Foundation
import NightshiftAPI

extension Application {
    /// As often as the service thinks right.
    public nonisolated static let backgroundFetchIntervalMinimum: TimeInterval = 0
    /// No background fetches: what holds until an app says something else.
    public nonisolated static let backgroundFetchIntervalNever: TimeInterval = .greatestFiniteMagnitude

    /// Says how many seconds no new background fetch may begin after each; afterwards the service decides.
    ///
    /// Returns at once; the service is told behind the caller's back, and again whenever it has come back. It keeps the interval until the
    /// app says another one or is removed. The app's user goes first. Without the mode `fetch` in the app's entry it has no
    /// effect, which a line on standard error says.
    ///
    /// - Parameter minimumBackgroundFetchInterval: seconds, a year at most; ``backgroundFetchIntervalMinimum`` or
    ///   ``backgroundFetchIntervalNever``.
    public func setMinimumBackgroundFetchInterval(_ minimumBackgroundFetchInterval: TimeInterval) {
        connection.refresh.setInterval(RefreshInterval(timeInterval: minimumBackgroundFetchInterval))
    }

    /// Whether the app is refreshed in the background.
    ///
    /// Read from what the service has said. Only the first call may have to wait for its first words, 2 s at most; without a
    /// service it is ``BackgroundRefreshStatus/restricted``. ``backgroundRefreshStatusDidChangeNotification`` tells of changes.
    public var backgroundRefreshStatus: BackgroundRefreshStatus {
        BackgroundRefreshStatus(connection.refresh.availability)
    }

    /// Posted on the main thread when ``backgroundRefreshStatus`` has changed. The name is UIKit's.
    public nonisolated static let backgroundRefreshStatusDidChangeNotification = Notification.Name(
        "UIApplicationBackgroundRefreshStatusDidChangeNotification")

    /// Nobody has called the delegate's own method, which it may have all the same.
    func adviseFetchMethod(of delegate: any ApplicationDelegate) {
        guard !hasAdvisedFetchMethod else { return }
        hasAdvisedFetchMethod = true
        Notice.print(
            "The app was woken for a background fetch, and \(type(of: delegate)) has no method that hears of it. It has to be "
                + "application(_:performFetchWithCompletionHandler:), in the class that conforms to ApplicationDelegate itself."
        )
    }
}

extension RefreshInterval {
    /// As UIKit's constants and seconds have it.
    init(timeInterval: TimeInterval) {
        guard timeInterval < .greatestFiniteMagnitude else {
            self = .never
            return
        }
        self = timeInterval > 0 ? .seconds(min(timeInterval, Self.longest)) : .minimum
    }
}
