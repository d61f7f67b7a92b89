package import Foundation

/// Whether an app's notifications are shown: its user's word (`UNAuthorizationStatus`).
package enum NotificationPermission: String, Hashable, Sendable, Codable, CaseIterable {
    /// Nobody has said yet. What a provider sends is kept until then, and the first of it asks.
    case ask
    case denied
    case allowed
    /// Nobody was asked; shown without a sound.
    case provisional
}

/// A notification of an app, as it is shown and as it is listed (`UNNotificationRequest` and its content).
package struct AppNotification: Hashable, Sendable, Codable {
    /// Unique in its app; the same identifier replaces. A push's is its collapse id, else its `apns-id`.
    package var identifier: String
    package var title: String
    package var subtitle: String
    package var body: String
    package var thread: String
    package var category: String
    package var badge: Int?
    /// The name of a sound; `default` for the desktop's own; nil for silence.
    package var sound: String?
    package var level: Level
    package var actions: [Action]
    /// The app's own JSON object; of a push the whole payload.
    package var userInfo: String
    package var isRemote: Bool
    /// When it was shown, or came.
    package var date: Date

    package enum Level: String, Hashable, Sendable, Codable, CaseIterable {
        case passive
        case active
        case timeSensitive
        case critical
    }

    package struct Action: Hashable, Sendable, Codable {
        package var identifier: String
        package var title: String
        /// Whether choosing it brings the app to the front; else it is launched in the background.
        package var isForeground: Bool

        package init(identifier: String, title: String, isForeground: Bool) {
            self.identifier = identifier
            self.title = title
            self.isForeground = isForeground
        }
    }

    package init(identifier: String, date: Date) {
        self.identifier = identifier
        self.date = date
        title = ""
        subtitle = ""
        body = ""
        thread = ""
        category = ""
        level = .active
        actions = []
        userInfo = "{}"
        isRemote = false
    }
}

/// The payload of a wake of the source `response`: what its user has chosen.
package struct NotificationResponse: Hashable, Sendable, Codable {
    package var notification: AppNotification
    /// ``opened``, ``dismissed``, or the identifier of one of its actions.
    package var action: String

    package static let opened = "com.apple.UNNotificationDefaultActionIdentifier"
    package static let dismissed = "com.apple.UNNotificationDismissActionIdentifier"

    package init(notification: AppNotification, action: String) {
        self.notification = notification
        self.action = action
    }
}

/// `GET /v1/process/notifications`: what the calling app has of notifications.
package struct ProcessNotifications: Hashable, Sendable, Codable {
    package var permission: NotificationPermission
    /// Whether a notification server runs that shows them.
    package var canShow: Bool
    package var delivered: [AppNotification]
    package var pending: [NotificationRequest]

    package init(permission: NotificationPermission, canShow: Bool) {
        self.permission = permission
        self.canShow = canShow
        delivered = []
        pending = []
    }
}

/// `POST /v1/process/notifications/authorization`.
package struct NotificationAuthorizationRequest: Hashable, Sendable, Codable {
    /// Nobody is asked; what comes is shown without a sound.
    package var isProvisional: Bool

    package init(isProvisional: Bool = false) {
        self.isProvisional = isProvisional
    }
}

/// `POST /v1/process/notifications`: the app's own notification, shown now or later.
package struct NotificationRequest: Hashable, Sendable, Codable {
    package var notification: AppNotification
    /// Seconds from now on; nil for at once.
    package var delay: Double?
    package var repeats: Bool

    package init(notification: AppNotification, delay: Double? = nil, repeats: Bool = false) {
        self.notification = notification
        self.delay = delay
        self.repeats = repeats
    }
}

/// `PUT /v1/process/notifications/categories`: the actions of each category.
package struct NotificationCategories: Hashable, Sendable, Codable {
    package var categories: [Category]

    package struct Category: Hashable, Sendable, Codable {
        package var identifier: String
        package var actions: [AppNotification.Action]
        /// Whether the app wants to hear of dismissals.
        package var tellsOfDismissal: Bool

        package init(identifier: String, actions: [AppNotification.Action], tellsOfDismissal: Bool) {
            self.identifier = identifier
            self.actions = actions
            self.tellsOfDismissal = tellsOfDismissal
        }
    }

    package init(categories: [Category]) {
        self.categories = categories
    }
}

/// `PUT /v1/process/notifications/badge`.
package struct BadgeChange: Hashable, Sendable, Codable {
    /// 0 takes it away.
    package var count: Int

    package init(count: Int) {
        self.count = count
    }
}
