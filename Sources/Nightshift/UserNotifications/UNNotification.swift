public import Foundation
import NightshiftAPI

/// A notification that was shown, or is about to be.
public final class UNNotification: NSObject, NSCopying, Sendable {
    /// When it was shown; of one that is not yet, when it came.
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
    /// Unique in the app: one with the same identifier replaces. Of a remote notification its `apns-collapse-id`,
    /// else its `apns-id`.
    public let identifier: String
    public let content: UNNotificationContent
    /// Nil for at once, and for the app's own that were shown; ``UNPushNotificationTrigger`` for remote ones.
    public let trigger: UNNotificationTrigger?

    /// - Parameter content: copied.
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

    /// Seconds from `now` until it is shown, and whether that repeats; nil for at once.
    func delay(from now: Date) throws(UNError) -> (interval: Double?, repeats: Bool) {
        guard let trigger = trigger as? UNCalendarNotificationTrigger else {
            let trigger = trigger as? UNTimeIntervalNotificationTrigger
            return (trigger?.timeInterval, trigger?.repeats ?? false)
        }
        guard !trigger.repeats else {
            throw UNError(
                .notificationInvalidNoDate,
                "A calendar trigger cannot repeat here. Add the next notification when the app runs, or use a time interval."
            )
        }
        guard let date = trigger.nextTriggerDate(after: now) else {
            throw UNError(.notificationInvalidNoDate, "The trigger's date components name no time that is to come.")
        }
        return (date.timeIntervalSince(now), false)
    }

    /// One that waits for its time.
    convenience init(_ request: NotificationRequest) {
        self.init(
            identifier: request.notification.identifier, content: UNNotificationContent(request.notification),
            trigger: request.delay.map {
                UNTimeIntervalNotificationTrigger(remaining: $0, repeats: request.repeats)
            })
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// What the app's user has done with a notification.
public class UNNotificationResponse: NSObject, NSCopying, @unchecked Sendable {
    // Unchecked for its subclass's sake: nothing of it changes.

    public let notification: UNNotification
    /// ``UNNotificationDefaultActionIdentifier``, ``UNNotificationDismissActionIdentifier``, or that of a
    /// ``UNNotificationAction``.
    public let actionIdentifier: String

    init(_ response: NotificationResponse) {
        notification = UNNotification(response.notification)
        actionIdentifier = response.action
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// An answer to a ``UNTextInputNotificationAction``. The service makes none: it does not ask desktops for text.
public final class UNTextInputNotificationResponse: UNNotificationResponse, @unchecked Sendable {
    public var userText: String { "" }
}

// The names are Apple's.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The user has opened the notification.
public let UNNotificationDefaultActionIdentifier = "com.apple.UNNotificationDefaultActionIdentifier"

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The user has dismissed the notification; told only for categories with
/// ``UNNotificationCategoryOptions/customDismissAction``.
public let UNNotificationDismissActionIdentifier = "com.apple.UNNotificationDismissActionIdentifier"
