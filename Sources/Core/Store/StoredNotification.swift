package import NightshiftAPI

/// A pending or shown notification of an app. Times are in seconds since 1970.
package struct StoredNotification: Hashable, Sendable {
    package var app: AppID
    package var notification: AppNotification
    package var state: State
    /// The time to show the notification; nil for a shown notification.
    package var due: Double?
    /// The delay in seconds that the app requested; nil if it requested none.
    package var delay: Double?
    /// Whether the notification is shown again each time the delay has passed.
    package var repeats: Bool
    /// The notification server that shows the notification, and its number there; nil if no running notification server
    /// can report events about it.
    package var place: Place?

    package enum State: String, Hashable, Sendable {
        /// The state of a notification that waits for its time.
        case pending
        /// The state of a notification that is due and waits to be shown.
        case due
        case shown
    }

    /// The notification server that shows a notification, and the number of the notification there.
    package struct Place: Hashable, Sendable {
        /// The bus and the connection name of the notification server. A connection name is never reused.
        package var server: String
        /// The server's number of the notification.
        package var number: UInt32

        package init(server: String, number: UInt32) {
            self.server = server
            self.number = number
        }
    }

    /// The key of a notification. A pending notification and a shown one may have the same identifier.
    package struct Key: Hashable, Sendable {
        package var app: AppID
        package var identifier: String
        package var isShown: Bool

        package init(app: AppID, identifier: String, isShown: Bool) {
            self.app = app
            self.identifier = identifier
            self.isShown = isShown
        }
    }

    package init(app: AppID, notification: AppNotification, state: State = .pending, due: Double? = nil) {
        self.app = app
        self.notification = notification
        self.state = state
        self.due = due
        repeats = false
    }

    package var key: Key { Key(app: app, identifier: notification.identifier, isShown: state == .shown) }
}

/// The readable rows of notifications, and the names of the unreadable rows.
package struct StoredNotifications<App: Sendable>: Sendable {
    package var apps: [AppID: App] = [:]
    /// The notifications, with the oldest first.
    package var notifications: [StoredNotification] = []
    package var unreadable: [String] = []

    package init() {}
}
