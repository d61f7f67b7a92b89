package import Foundation

/// The user's permission for an app to show notifications (`UNAuthorizationStatus`).
package enum NotificationPermission: String, Hashable, Sendable, Codable, CaseIterable {
    /// The value before a decision. Until the user decides, notifications from the provider are kept, and the first one
    /// causes the question.
    case ask
    case denied
    case allowed
    /// A provisional permission, for which the user is not asked. Notifications are shown without a sound.
    case provisional
}

/// A notification of an app, as shown and as listed (`UNNotificationRequest` and its content).
package struct AppNotification: Hashable, Sendable, Codable {
    /// An identifier that is unique within the app. A notification replaces a previous one with the same identifier.
    /// The identifier of a push is its collapse id, or otherwise its `apns-id`.
    package var identifier: String
    package var title: String
    package var subtitle: String
    package var body: String
    package var thread: String
    package var category: String
    package var badge: Int?
    /// The name of a sound; `default` for the default sound of the desktop; nil for no sound.
    package var sound: String?
    package var level: Level
    package var actions: [Action]
    /// A JSON object that belongs to the app. For a push, this object is the whole payload.
    package var userInfo: String
    package var isRemote: Bool
    /// The time at which the notification was shown or arrived.
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
        /// Whether choosing the action brings the app to the foreground. Otherwise, the app is launched in the
        /// background.
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

/// The payload of a wake from the source `response`: the choice of the user.
package struct NotificationResponse: Hashable, Sendable, Codable {
    package var notification: AppNotification
    /// The user's choice: ``opened``, ``dismissed``, or the identifier of an action of the notification.
    package var action: String

    package static let opened = "com.apple.UNNotificationDefaultActionIdentifier"
    package static let dismissed = "com.apple.UNNotificationDismissActionIdentifier"

    package init(notification: AppNotification, action: String) {
        self.notification = notification
        self.action = action
    }
}

/// The response of `GET /v1/process/notifications`: the notification state of the calling app.
package struct ProcessNotifications: Hashable, Sendable, Codable {
    package var permission: NotificationPermission
    /// Whether a notification server is running.
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

/// The body of `POST /v1/process/notifications/authorization`.
package struct NotificationAuthorizationRequest: Hashable, Sendable, Codable {
    /// Whether notifications are shown without a sound, and without asking the user.
    package var isProvisional: Bool

    package init(isProvisional: Bool = false) {
        self.isProvisional = isProvisional
    }
}

/// The body of `POST /v1/process/notifications`: a notification of the app, shown now or later.
package struct NotificationRequest: Hashable, Sendable, Codable {
    package var notification: AppNotification
    /// The delay in seconds; nil to show the notification immediately.
    package var delay: Double?
    package var repeats: Bool

    package init(notification: AppNotification, delay: Double? = nil, repeats: Bool = false) {
        self.notification = notification
        self.delay = delay
        self.repeats = repeats
    }
}

/// The body of `PUT /v1/process/notifications/categories`: the actions of each category.
package struct NotificationCategories: Hashable, Sendable, Codable {
    package var categories: [Category]

    package struct Category: Hashable, Sendable, Codable {
        package var identifier: String
        package var actions: [AppNotification.Action]
        /// Whether the app wants to be notified when the user dismisses a notification.
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

/// The body of `PUT /v1/process/notifications/badge`.
package struct BadgeChange: Hashable, Sendable, Codable {
    /// The number on the badge; 0 removes the badge.
    package var count: Int

    package init(count: Int) {
        self.count = count
    }
}
