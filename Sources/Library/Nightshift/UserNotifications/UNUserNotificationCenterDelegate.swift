public import Foundation

/// The methods with which an app receives its notifications and the user's responses.
///
/// The methods are called on the main thread. Every method has a default implementation and two forms: one with a
/// completion handler and an asynchronous one. Implement either form. The class that declares the conformance must
/// implement the methods itself, because methods of a subclass are not called. If the class is isolated to the main
/// actor, mark the conformance `@preconcurrency` or the methods `nonisolated`, as on iOS.
public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
    /// Decides how to present a notification while the app is in the foreground. It is called before the notification
    /// is shown. If the delegate does not implement this method, such notifications are not shown. If there is no
    /// delegate, they are shown as they were sent.
    ///
    /// - Parameter completionHandler: A handler for the presentation options. Call it within 5 s, on any thread.
    ///   Otherwise the notification is shown as it was sent.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void)

    /// Decides how to present a notification while the app is in the foreground. This is the asynchronous form of the
    /// method with a completion handler.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions

    /// Handles the user's response: the user has opened a notification, chosen one of its actions, or dismissed it. The
    /// app may have been launched for this response. Set the delegate before `didFinishLaunching` returns.
    ///
    /// - Parameter completionHandler: A handler that you must call within 30 s, on any thread.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping @Sendable () -> Void)

    /// Handles the user's response to a notification. This is the asynchronous form of the method with a completion
    /// handler.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async

    /// A method that is never called, because desktops do not show a button for the app's own settings.
    func userNotificationCenter(_ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?)
}

extension UNUserNotificationCenterDelegate {
    public func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void
    ) {
        // The delegate is called and used only on the main thread.
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
        // The delegate is called and used only on the main thread.
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
