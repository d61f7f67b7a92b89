public import Foundation

/// The condition that decides when a notification is shown. This is the base class of all triggers.
public class UNNotificationTrigger: NSObject, NSCopying, @unchecked Sendable {
    // This class is unchecked because of its subclasses. No property changes.

    public let repeats: Bool

    init(repeats: Bool) {
        self.repeats = repeats
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// The trigger of a remote notification. Apps cannot make this trigger.
public final class UNPushNotificationTrigger: UNNotificationTrigger, @unchecked Sendable {
    init() {
        super.init(repeats: false)
    }
}

/// A trigger for the next time at which the wall clock matches the date components. It fires once.
///
/// When the notification is added, the time is converted to a number of seconds. A pending notification therefore has a
/// ``UNTimeIntervalNotificationTrigger``. A repeating calendar trigger is refused with
/// ``UNError/Code/notificationInvalidNoDate``. Instead, add the next notification when the app is launched, or use a
/// repeating ``UNTimeIntervalNotificationTrigger``.
public final class UNCalendarNotificationTrigger: UNNotificationTrigger, @unchecked Sendable {
    /// The date components. They are interpreted in their own calendar and time zone, or in the user's if they have
    /// none.
    public let dateComponents: DateComponents

    public init(dateMatching dateComponents: DateComponents, repeats: Bool) {
        self.dateComponents = dateComponents
        super.init(repeats: repeats)
    }

    /// Returns the time at which the notification would be shown if its request were added now. Returns nil if the date
    /// components do not match any future time.
    public func nextTriggerDate() -> Date? { nextTriggerDate(after: Date()) }

    func nextTriggerDate(after date: Date) -> Date? {
        var calendar = dateComponents.calendar ?? Calendar.current
        if let zone = dateComponents.timeZone { calendar.timeZone = zone }
        var wanted = dateComponents
        (wanted.calendar, wanted.timeZone) = (nil, nil)
        return calendar.nextDate(after: date, matching: wanted, matchingPolicy: .nextTime)
    }
}

/// A trigger that fires a time interval after the request was added, once or repeatedly.
public final class UNTimeIntervalNotificationTrigger: UNNotificationTrigger, @unchecked Sendable {
    /// The interval in seconds.
    public let timeInterval: TimeInterval

    /// Makes a trigger.
    ///
    /// - Parameters:
    ///   - timeInterval: The interval in seconds. It must be greater than 0, and at least 60 if the trigger repeats.
    ///     Other values end the process, as on Apple's systems.
    public init(timeInterval: TimeInterval, repeats: Bool) {
        precondition(timeInterval > 0, "time interval must be greater than 0")
        precondition(!repeats || timeInterval >= 60, "time interval must be at least 60 if repeating")
        self.timeInterval = timeInterval
        super.init(repeats: repeats)
    }

    /// Makes a trigger from the remaining time that the service reports. The time is not checked, because it can be
    /// very short.
    init(remaining: TimeInterval, repeats: Bool) {
        timeInterval = remaining
        super.init(repeats: repeats)
    }

    /// Returns the time at which the notification would be shown if its request were added now.
    public func nextTriggerDate() -> Date? { Date(timeIntervalSinceNow: timeInterval) }
}
