public import Foundation
import NightshiftAPI
import Synchronization

// This class is unchecked because of its subclass, whose mutable state is in a mutex.
/// The content of a notification. Use ``UNMutableNotificationContent`` to make content.
public class UNNotificationContent: NSObject, NSCopying, NSMutableCopying, @unchecked Sendable {
    fileprivate let values: Mutex<Values>

    // This type is unchecked because of `userInfo`, which contains values of a property list or of JSON. These values
    // are not modified.
    fileprivate struct Values: @unchecked Sendable {
        var title = ""
        var subtitle = ""
        var body = ""
        var threadIdentifier = ""
        var categoryIdentifier = ""
        var badge: Int?
        var sound: UNNotificationSound?
        var userInfo: [AnyHashable: Any] = [:]
        var interruptionLevel = UNNotificationInterruptionLevel.active
    }

    public override init() {
        values = Mutex(Values())
    }

    fileprivate init(_ values: Values) {
        self.values = Mutex(values)
    }

    public var title: String { values.withLock(\.title) }

    public var subtitle: String { values.withLock(\.subtitle) }

    public var body: String { values.withLock(\.body) }

    /// The identifier of a thread. Notifications of one thread are grouped if the desktop supports that.
    public var threadIdentifier: String { values.withLock(\.threadIdentifier) }

    /// The identifier of the ``UNNotificationCategory`` that defines the notification's actions.
    public var categoryIdentifier: String { values.withLock(\.categoryIdentifier) }

    /// The number on the app's icon. 0 removes it, and nil leaves it unchanged.
    public var badge: NSNumber? { values.withLock(\.badge).map { NSNumber(value: $0) } }

    public var sound: UNNotificationSound? { values.withLock(\.sound) }

    /// The app's own data. For a remote notification, this is the complete JSON object that the provider sent.
    public var userInfo: [AnyHashable: Any] {
        // The values are never modified, as explained at `Values`.
        nonisolated(unsafe) var userInfo: [AnyHashable: Any] = [:]
        values.withLock { userInfo = $0.userInfo }
        return userInfo
    }

    public var interruptionLevel: UNNotificationInterruptionLevel { values.withLock(\.interruptionLevel) }

    /// The attachments. The array is always empty, because no ``UNNotificationAttachment`` can be made.
    public var attachments: [UNNotificationAttachment] { [] }

    public func copy(with zone: NSZone? = nil) -> Any {
        UNNotificationContent(values.withLock { $0 })
    }

    public func mutableCopy(with zone: NSZone? = nil) -> Any {
        UNMutableNotificationContent(values.withLock { $0 })
    }
}

/// Content of a notification that can be changed.
public final class UNMutableNotificationContent: UNNotificationContent, @unchecked Sendable {
    public override init() {
        super.init()
    }

    fileprivate override init(_ values: Values) {
        super.init(values)
    }

    public override var title: String {
        get { super.title }
        set { values.withLock { $0.title = newValue } }
    }

    public override var subtitle: String {
        get { super.subtitle }
        set { values.withLock { $0.subtitle = newValue } }
    }

    public override var body: String {
        get { super.body }
        set { values.withLock { $0.body = newValue } }
    }

    public override var threadIdentifier: String {
        get { super.threadIdentifier }
        set { values.withLock { $0.threadIdentifier = newValue } }
    }

    public override var categoryIdentifier: String {
        get { super.categoryIdentifier }
        set { values.withLock { $0.categoryIdentifier = newValue } }
    }

    public override var badge: NSNumber? {
        get { super.badge }
        set {
            let count = newValue?.intValue
            values.withLock { $0.badge = count }
        }
    }

    public override var sound: UNNotificationSound? {
        get { super.sound }
        set { values.withLock { $0.sound = newValue } }
    }

    /// The app's own data, with property-list types: strings, numbers, dates, data, and arrays and dictionaries of
    /// these types. `NSNull` is also allowed, but not together with dates or data. A notification with other values is
    /// refused.
    public override var userInfo: [AnyHashable: Any] {
        get { super.userInfo }
        set {
            // The values are never modified, as in the getter.
            nonisolated(unsafe) let userInfo = newValue
            values.withLock { $0.userInfo = userInfo }
        }
    }

    public override var interruptionLevel: UNNotificationInterruptionLevel {
        get { super.interruptionLevel }
        set { values.withLock { $0.interruptionLevel = newValue } }
    }

    /// The attachments. The array is always empty.
    public override var attachments: [UNNotificationAttachment] {
        get { super.attachments }
        // A new value is ignored, because no attachment can exist.
        set {}
    }
}

/// The degree to which a notification may interrupt the user.
public enum UNNotificationInterruptionLevel: UInt, Sendable {
    case passive = 0
    case active = 1
    case timeSensitive = 2
    case critical = 3

    fileprivate init(_ level: AppNotification.Level) {
        self =
            switch level {
            case .passive: .passive
            case .active: .active
            case .timeSensitive: .timeSensitive
            case .critical: .critical
            }
    }

    fileprivate var level: AppNotification.Level {
        switch self {
        case .passive: .passive
        case .active: .active
        case .timeSensitive: .timeSensitive
        case .critical: .critical
        }
    }
}

// MARK: - Conversion for the service

extension UNNotificationContent {
    convenience init(_ notification: AppNotification) {
        var values = Values()
        values.title = notification.title
        values.subtitle = notification.subtitle
        values.body = notification.body
        values.threadIdentifier = notification.thread
        values.categoryIdentifier = notification.category
        values.badge = notification.badge
        values.sound = notification.sound.map { UNNotificationSound(name: $0) }
        let text = notification.userInfo
        values.userInfo = notification.isRemote ? UserInfo.remote(text) : UserInfo.local(text)
        values.interruptionLevel = UNNotificationInterruptionLevel(notification.level)
        self.init(values)
    }

    /// Returns the notification in the form that is sent to the service. Returns nil if `userInfo` has values that
    /// property lists cannot have.
    func notification(_ identifier: String, _ date: Date) -> AppNotification? {
        let values = values.withLock { $0 }
        guard let userInfo = UserInfo.json(values.userInfo) else { return nil }
        var notification = AppNotification(identifier: identifier, date: date)
        notification.title = values.title
        notification.subtitle = values.subtitle
        notification.body = values.body
        notification.thread = values.threadIdentifier
        notification.category = values.categoryIdentifier
        notification.badge = values.badge
        notification.sound = values.sound?.name
        notification.userInfo = userInfo
        notification.level = values.interruptionLevel.level
        return notification
    }
}
