public import Foundation

/// The methods with which an app receives its notifications and the user's responses.
///
/// Every method has a default implementation, is called on the main thread, and can be implemented in either of its
/// forms. The class that declares the conformance must implement the methods itself, because methods of a subclass are
/// not called. If the class is isolated to the main actor, mark the conformance `@preconcurrency` or the methods
/// `nonisolated`, as on iOS.
public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
    /// Called before a notification is shown while the app is in the foreground. If the delegate does not implement
    /// this method, such notifications are not shown. Without a delegate, they are shown as they were sent.
    ///
    /// - Parameter completionHandler: Call this handler, on any thread, within 5 s with the presentation options. If
    ///   you do not, the notification is shown as it was sent.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void)

    /// The asynchronous form of the method with a completion handler.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions

    /// Called when the user has opened a notification, chosen one of its actions, or dismissed it. The app may have
    /// been launched for this. The delegate must be set when `didFinishLaunching` returns.
    ///
    /// - Parameter completionHandler: Call this handler, on any thread, within 30 s.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping @Sendable () -> Void)

    /// The asynchronous form of the method with a completion handler.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async

    /// Never called, because no desktop shows a button for the app's own settings.
    func userNotificationCenter(_ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?)
}

extension UNUserNotificationCenterDelegate {
    public func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void
    ) {
        // The delegate is called and used on the main thread only.
        nonisolated(unsafe) let delegate = self
        Task { @MainActor in
            completionHandler(await delegate.userNotificationCenter(center, willPresent: notification))
        }
    }

    public func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions { [] }

    public func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping @Sendable () -> Void
    ) {
        // The delegate is called and used on the main thread only.
        nonisolated(unsafe) let delegate = self
        Task { @MainActor in
            await delegate.userNotificationCenter(center, didReceive: response)
            completionHandler()
        }
    }

    public func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
    ) async {}

    public func userNotificationCenter(
        _ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?
    ) {}
}

/// Options for presenting a notification while the app is in the foreground.
public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    public static let badge = UNNotificationPresentationOptions(rawValue: 1 << 0)
    public static let sound = UNNotificationPresentationOptions(rawValue: 1 << 1)
    /// The combination of ``banner`` and ``list``, under its name before iOS 14.
    public static let alert = UNNotificationPresentationOptions(rawValue: 1 << 2)
    public static let list = UNNotificationPresentationOptions(rawValue: 1 << 3)
    public static let banner = UNNotificationPresentationOptions(rawValue: 1 << 4)

    static let all: UNNotificationPresentationOptions = [.badge, .sound, .alert, .list, .banner]
}
