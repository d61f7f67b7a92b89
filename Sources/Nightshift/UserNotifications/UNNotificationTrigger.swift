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
