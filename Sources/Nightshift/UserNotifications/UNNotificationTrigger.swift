public import Foundation

/// When a notification is shown: what its subclasses have in common.
public class UNNotificationTrigger: NSObject, NSCopying, @unchecked Sendable {
    // Unchecked for its subclasses' sake: nothing of them changes.

    public let repeats: Bool

    init(repeats: Bool) {
        self.repeats = repeats
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// The trigger of a remote notification, which only the service makes.
public final class UNPushNotificationTrigger: UNNotificationTrigger, @unchecked Sendable {
    init() {
        super.init(repeats: false)
    }
}

/// The next time at which the clock on the wall shows what the components say, once.
///
/// The service counts the seconds until then from when the notification is added: one that is pending has a
/// ``UNTimeIntervalNotificationTrigger``. A trigger that repeats is refused with ``UNError/Code/notificationInvalidNoDate``: the app adds the
/// next notification when it is launched, or has a ``UNTimeIntervalNotificationTrigger`` repeat.
public final class UNCalendarNotificationTrigger: UNNotificationTrigger, @unchecked Sendable {
    /// In their own calendar and time zone, or the user's.
    public let dateComponents: DateComponents

    public init(dateMatching dateComponents: DateComponents, repeats: Bool) {
        self.dateComponents = dateComponents
        super.init(repeats: repeats)
    }

    /// The time at which a request that was added now would be shown; nil where the components name none that is to come.
    public func nextTriggerDate() -> Date? { nextTriggerDate(after: Date()) }

    func nextTriggerDate(after date: Date) -> Date? {
        var calendar = dateComponents.calendar ?? Calendar.current
        if let zone = dateComponents.timeZone { calendar.timeZone = zone }
        var wanted = dateComponents
        (wanted.calendar, wanted.timeZone) = (nil, nil)
        return calendar.nextDate(after: date, matching: wanted, matchingPolicy: .nextTime)
    }
}

/// Some time after the request was added, once or again and again.
public final class UNTimeIntervalNotificationTrigger: UNNotificationTrigger, @unchecked Sendable {
    /// Seconds.
    public let timeInterval: TimeInterval

    /// - Parameters:
    ///   - timeInterval: seconds, more than 0; 60 at least where it repeats. Anything else ends the process, as on
    ///     Apple's systems.
    public init(timeInterval: TimeInterval, repeats: Bool) {
        precondition(timeInterval > 0, "time interval must be greater than 0")
        precondition(!repeats || timeInterval >= 60, "time interval must be at least 60 if repeating")
        self.timeInterval = timeInterval
        super.init(repeats: repeats)
    }

    /// As the service has it, which may be a moment before it is due.
    init(remaining: TimeInterval, repeats: Bool) {
        timeInterval = remaining
        super.init(repeats: repeats)
    }

    /// The time at which a request that was added now would be shown.
    public func nextTriggerDate() -> Date? { Date(timeIntervalSinceNow: timeInterval) }
}
