package import Foundation
package import NightshiftAPI
package import Store

/// The stored state of an app's notifications, apart from the notifications themselves.
package struct NotificationAppRecord: Hashable, Sendable, Codable {
    package var permission = NotificationPermission.ask
    package var categories: [NotificationCategories.Category] = []
    /// The number on the app's icon; 0 for no number.
    package var badge = 0

    package init() {}
}

/// A change that a transaction writes. The changes of a transaction are written in order.
package enum NotificationChange: Hashable, Sendable {
    /// The app was removed, so its data is deleted.
    case forget(AppID)
    case app(NotificationAppRecord, AppID)
    case remove(StoredNotification)
    /// A notification that has changed. It keeps its place in the order.
    case update(StoredNotification)
    /// A notification that comes last in the order. It replaces the one with the same key.
    case put(StoredNotification)
    /// The user has responded to a notification, so the app is woken.
    case respond(NotificationResponse, AppID)
    case entry(JournalEntry)
}

/// An effect of a decision on apps, the user or the notification server.
package enum NotificationEffect: Hashable, Sendable {
    /// The effect that asks the app how to present the notification. ``NotificationState/presented(_:_:now:)`` handles
    /// the answer.
    case present(token: Int64, AppID, AppNotification)
    /// The effect that shows the notification that ``NotificationState/draft(of:name:icon:)`` returns.
    case show(token: Int64, AppID)
    case close(StoredNotification.Place)
    case badge(AppID, Int)
    case startServer
    /// The effect that brings the app to the foreground.
    case activate(AppID)
    /// The effect that ends a question with the key of the user's choice, or with nil.
    case answer(question: Int64, String?)
    /// The effect that reports the state of a notification, with its identifier. A shown notification of any kind is
    /// reported, and a notification of a provider also when it waits or is not shown.
    case became(AppID, String, AlertState, Date)
    /// The effect that asks the user whether to show notifications of the app.
    case askPermission(AppID)
    /// The effect that reports that the user has allowed or denied notifications of the app.
    case permissionChanged(AppID)
}

/// The ways in which a notification is presented.
struct Presentation: Hashable, Sendable {
    /// Whether the server shows the notification.
    var pops: Bool
    var sounds: Bool
    /// Whether the notification counts as delivered even if the server does not show it.
    var lists: Bool
    var badges: Bool

    init(_ answer: PresentationAnswer) {
        switch answer {
        case .notInFront, .asSent:
            (pops, sounds, lists, badges) = (true, true, true, true)
        case .options(let options):
            // The bits of UNNotificationPresentationOptions are: badge 1, sound 2, alert 4 (list and banner), list 8,
            // banner 16.
            badges = options & 1 != 0
            sounds = options & 2 != 0
            pops = options & (4 | 16) != 0
            lists = pops || options & 8 != 0
        }
    }
}

extension NotificationPermission {
    /// Whether the user has decided. A provisional request of an app is not a decision.
    var isDecided: Bool {
        switch self {
        case .allowed, .denied: true
        case .ask, .provisional: false
        }
    }

    /// Whether notifications with this permission are shown.
    package var shows: Bool {
        switch self {
        case .allowed, .provisional: true
        case .ask, .denied: false
        }
    }
}
