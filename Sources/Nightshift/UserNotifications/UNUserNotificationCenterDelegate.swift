public import Foundation

/// What an app wants to hear of its notifications.
///
/// Every method has a default, is called on the main thread, and may be written in either of its forms. The class
/// that conforms has to have the methods itself. A class of the main actor marks the conformance `@preconcurrency`,
/// or its methods `nonisolated`, as on iOS.
public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
    /// A notification is about to be shown while the app is in front. A delegate without this method has none shown
    /// then; without a delegate they are shown as they were sent.
    ///
    /// - Parameter completionHandler: to be called on any thread within 5 s, with what of it is shown; afterwards it
    ///   is shown as it was sent.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void)

    /// The same, for delegates that wait instead of calling a handler.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions

    /// The user has opened a notification, chosen one of its actions, or dismissed it. The app may have been launched
    /// for it: a delegate that is there when `didFinishLaunching` returns hears it.
    ///
    /// - Parameter completionHandler: to be called on any thread, within 30 s.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping @Sendable () -> Void)

    /// The same, for delegates that wait instead of calling a handler.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async

    /// Never called here: no desktop shows a button for an app's own settings.
    func userNotificationCenter(_ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?)
}

extension UNUserNotificationCenterDelegate {
    public func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void
    ) {
        // Called on the main thread, and used there.
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
        // Called on the main thread, and used there.
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

/// What of a notification is shown while the app is in front.
public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    public static let badge = UNNotificationPresentationOptions(rawValue: 1 << 0)
    public static let sound = UNNotificationPresentationOptions(rawValue: 1 << 1)
    /// As ``banner`` and ``list`` together; its name before iOS 14.
    public static let alert = UNNotificationPresentationOptions(rawValue: 1 << 2)
    public static let list = UNNotificationPresentationOptions(rawValue: 1 << 3)
    public static let banner = UNNotificationPresentationOptions(rawValue: 1 << 4)

    static let all: UNNotificationPresentationOptions = [.badge, .sound, .alert, .list, .banner]
}
