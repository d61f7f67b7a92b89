package import NightshiftAPI

/// A notification of an app that waits to be shown, or that is. Times are seconds since 1970.
package struct StoredNotification: Hashable, Sendable {
    package var app: AppID
    package var notification: AppNotification
    package var state: State
    /// When it is to be shown; nil while it waits to be released.
    package var due: Double?
    /// Seconds that its app has asked for; nil for at once.
    package var delay: Double?
    /// Whether it is shown each time that its delay has passed again.
    package var repeats: Bool
    /// Nil where no server that runs can tell of it any more.
    package var place: Place?

    package enum State: String, Hashable, Sendable {
        /// It waits for its time, or to be released.
        case pending
        /// Its time has come; it waits for somebody who shows it.
        case due
        case shown
    }

    /// Where it is shown.
    package struct Place: Hashable, Sendable {
        /// The bus and the connection of the notification server, which no other one ever has.
        package var server: String
        /// The server's number of it.
        package var number: UInt32

        package init(server: String, number: UInt32) {
            self.server = server
            self.number = number
        }
    }

    /// One that waits and one that is shown may have the same identifier.
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

/// The rows of notifications that could be read, and what they are called that could not.
package struct StoredNotifications<App: Sendable>: Sendable {
    package var apps: [AppID: App] = [:]
    /// Oldest first.
    package var notifications: [StoredNotification] = []
    package var unreadable: [String] = []

    package init() {}
}
