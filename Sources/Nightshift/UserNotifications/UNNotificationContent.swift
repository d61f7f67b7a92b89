public import Foundation
import NightshiftAPI
import Synchronization

// Unchecked for its subclass's sake: what that changes is in a mutex.
/// What a notification says; to make one, see ``UNMutableNotificationContent``.
public class UNNotificationContent: NSObject, NSCopying, NSMutableCopying, @unchecked Sendable {
    fileprivate let values: Mutex<Values>

    // Unchecked for `userInfo`: values of a property list or of JSON, which nobody changes.
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

    /// Notifications of one thread stand together, where the desktop does that.
    public var threadIdentifier: String { values.withLock(\.threadIdentifier) }

    /// The ``UNNotificationCategory`` whose actions it has.
    public var categoryIdentifier: String { values.withLock(\.categoryIdentifier) }

    /// The number on the app's icon; 0 takes it away, nil leaves it.
    public var badge: NSNumber? { values.withLock(\.badge).map { NSNumber(value: $0) } }

    public var sound: UNNotificationSound? { values.withLock(\.sound) }

    /// The app's own; of a remote notification the whole of what the provider has sent, a JSON object.
    public var userInfo: [AnyHashable: Any] {
        // As in `Values`.
        nonisolated(unsafe) var userInfo: [AnyHashable: Any] = [:]
        values.withLock { userInfo = $0.userInfo }
        return userInfo
    }

    public var interruptionLevel: UNNotificationInterruptionLevel { values.withLock(\.interruptionLevel) }

    /// Always empty: no ``UNNotificationAttachment`` can be made.
    public var attachments: [UNNotificationAttachment] { [] }

    public func copy(with zone: NSZone? = nil) -> Any {
        UNNotificationContent(values.withLock { $0 })
    }

    public func mutableCopy(with zone: NSZone? = nil) -> Any {
        UNMutableNotificationContent(values.withLock { $0 })
    }
}

/// What a notification is to say.
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

    /// Property-list types: strings, numbers, dates, data, arrays and dictionaries of these; `NSNull` where there are no dates and no
    /// data. A notification with other values is refused.
    public override var userInfo: [AnyHashable: Any] {
        get { super.userInfo }
        set {
            // As the getter's.
            nonisolated(unsafe) let userInfo = newValue
            values.withLock { $0.userInfo = userInfo }
        }
    }

    public override var interruptionLevel: UNNotificationInterruptionLevel {
        get { super.interruptionLevel }
        set { values.withLock { $0.interruptionLevel = newValue } }
    }

    /// Stays empty.
    public override var attachments: [UNNotificationAttachment] {
        get { super.attachments }
        // There is nothing that could be in it.
        set {}
    }
}

/// How much a notification may disturb.
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

// MARK: - On the way to the service

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

    /// Nil where its `userInfo` has other values than property lists have.
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
