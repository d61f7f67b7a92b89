public import Foundation
import NightshiftAPI

/// A notification that was shown or will be shown now.
public final class UNNotification: NSObject, NSCopying, Sendable {
    /// The time at which the notification was shown. If the notification is not shown yet, this is the time at which it
    /// arrived.
    public let date: Date
    public let request: UNNotificationRequest

    init(_ notification: AppNotification) {
        date = notification.date
        request = UNNotificationRequest(notification)
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// A request to show a notification, now or later.
public final class UNNotificationRequest: NSObject, NSCopying, Sendable {
    /// The identifier, which is unique in the app. A new notification replaces the app's notification with the same
    /// identifier. The identifier of a remote notification is its `apns-collapse-id`, or its `apns-id` if there is no
    /// collapse id.
    public let identifier: String
    public let content: UNNotificationContent
    /// The trigger. It is nil for immediate notifications and for delivered notifications that the app made itself. It
    /// is a ``UNPushNotificationTrigger`` for remote notifications.
    public let trigger: UNNotificationTrigger?

    /// Makes a request.
    ///
    /// - Parameter content: The content, which is copied.
    public init(identifier: String, content: UNNotificationContent, trigger: UNNotificationTrigger?) {
        self.identifier = identifier
        self.content = content.copy() as? UNNotificationContent ?? content
        self.trigger = trigger
    }

    convenience init(_ notification: AppNotification) {
        self.init(
            identifier: notification.identifier, content: UNNotificationContent(notification),
            trigger: notification.isRemote ? UNPushNotificationTrigger() : nil)
    }

    /// Returns the time in seconds from `now` until the notification is shown, and whether it repeats. The time is nil
    /// if the notification is shown immediately.
    func delay(from now: Date) throws(UNError) -> (interval: Double?, repeats: Bool) {
        guard let trigger = trigger as? UNCalendarNotificationTrigger else {
            let trigger = trigger as? UNTimeIntervalNotificationTrigger
            return (trigger?.timeInterval, trigger?.repeats ?? false)
        }
        guard !trigger.repeats else {
            throw UNError(
                .notificationInvalidNoDate,
                "A calendar trigger cannot repeat on this system. Add the next notification when the app runs, or use a time interval."
            )
        }
        guard let date = trigger.nextTriggerDate(after: now) else {
            throw UNError(.notificationInvalidNoDate, "The trigger's date components do not match any future time.")
        }
        return (date.timeIntervalSince(now), false)
    }

    /// Makes the request of a pending notification from the service's description.
    convenience init(_ request: NotificationRequest) {
        self.init(
            identifier: request.notification.identifier, content: UNNotificationContent(request.notification),
            trigger: request.delay.map {
                UNTimeIntervalNotificationTrigger(remaining: $0, repeats: request.repeats)
            })
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// The user's response to a notification.
public class UNNotificationResponse: NSObject, NSCopying, @unchecked Sendable {
    // This class is unchecked because of its subclass. No property changes.

    public let notification: UNNotification
    /// The identifier of the action that the user chose: ``UNNotificationDefaultActionIdentifier``,
    /// ``UNNotificationDismissActionIdentifier``, or the identifier of a ``UNNotificationAction``.
    public let actionIdentifier: String

    init(_ response: NotificationResponse) {
        notification = UNNotification(response.notification)
        actionIdentifier = response.action
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// A response to a ``UNTextInputNotificationAction``. Apps never receive it on this system, because desktop
/// notifications have no text fields.
public final class UNTextInputNotificationResponse: UNNotificationResponse, @unchecked Sendable {
    public var userText: String { "" }
}

// The names are the same as on Apple's systems.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The identifier of the action of opening the notification.
public let UNNotificationDefaultActionIdentifier = "com.apple.UNNotificationDefaultActionIdentifier"

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The identifier of the action of dismissing the notification. It is reported only for categories with
/// ``UNNotificationCategoryOptions/customDismissAction``.
public let UNNotificationDismissActionIdentifier = "com.apple.UNNotificationDismissActionIdentifier"
