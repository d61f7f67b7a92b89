package import Foundation
package import NightshiftAPI
package import Store

/// What is kept of an app's notifications beside the notifications themselves.
package struct NotificationAppRecord: Hashable, Sendable, Codable {
    package var permission = NotificationPermission.ask
    package var categories: [NotificationCategories.Category] = []
    /// The number on the app's icon; 0 for none.
    package var badge = 0

    package init() {}
}

/// What one transaction writes, in this order.
package enum NotificationChange: Hashable, Sendable {
    case put(StoredNotification)
    /// Its time has come, whatever the wall clock says from now on.
    case due(String, AppID)
    /// It is shown; of one that repeats, `next` is when it is shown again.
    case shown(AppNotification, AppID, StoredNotification.Place?, next: Double?)
    case forgetPlace(String, AppID)
    case remove(StoredNotification.Key)
    case app(NotificationAppRecord, AppID)
    /// Its user has answered a notification: the app is woken for it.
    case respond(NotificationResponse, AppID)
    case entry(JournalEntry)
    /// The app is gone.
    case forget(AppID)
}

/// What is to be done outside.
package enum NotificationEffect: Hashable, Sendable {
    /// The app is asked, where it is in front; the answer goes to ``NotificationBook/presented(_:_:now:)``.
    case present(token: Int64, AppID, AppNotification)
    /// ``NotificationBook/draft(of:name:icon:)`` is shown.
    case show(token: Int64, AppID)
    case close(StoredNotification.Place)
    case badge(AppID, Int)
    case startServer
    /// The app is brought to the front.
    case activate(AppID)
    /// A question has its answer: the key of a choice, or nil.
    case answer(question: Int64, String?)
    /// A notification, by its identifier, is shown; one that a provider has sent waits for something, or is not shown.
    case became(AppID, String, AlertState, Date)
    /// The user is asked whether notifications of the app are shown.
    case askPermission(AppID)
    /// The user has said whether notifications of the app are shown.
    case permissionChanged(AppID)
}

/// In which ways a notification reaches its user.
struct Presentation: Hashable, Sendable {
    /// Whether the server shows it.
    var pops: Bool
    var sounds: Bool
    /// Whether it counts as delivered where nothing pops up.
    var lists: Bool
    var badges: Bool

    init(_ answer: PresentationAnswer) {
        switch answer {
        case .notInFront, .asSent:
            (pops, sounds, lists, badges) = (true, true, true, true)
        case .options(let options):
            // UNNotificationPresentationOptions: badge 1, sound 2, alert 4 (list and banner), list 8, banner 16.
            badges = options & 1 != 0
            sounds = options & 2 != 0
            pops = options & (4 | 16) != 0
            lists = pops || options & 8 != 0
        }
    }
}

extension NotificationPermission {
    /// Whether its user has said it, and not merely an app.
    var isDecided: Bool {
        switch self {
        case .allowed, .denied: true
        case .ask, .provisional: false
        }
    }

    /// Whether anything is shown.
    package var shows: Bool {
        switch self {
        case .allowed, .provisional: true
        case .ask, .denied: false
        }
    }
}
