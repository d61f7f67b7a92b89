/// A notification for the desktop (org.freedesktop.Notifications, Desktop Notifications Specification 1.2).
package struct DesktopNotification: Hashable, Sendable {
    package var appName: String
    /// The name of an icon in the theme, or a path; empty for no icon.
    package var icon: String
    /// The server's number for the notification to replace; 0 to show a new one.
    package var replaces: UInt32
    package var title: String
    /// The body text. It contains markup if the server supports markup.
    package var body: String
    package var actions: [Action]
    /// The name of the app's desktop entry, without `.desktop`.
    package var entry: String
    package var urgency: Urgency
    package var category: String?
    /// The name of a sound in the theme; nil for no sound.
    package var sound: String?
    /// Whether the notification stays until the user responds. Otherwise the server chooses the time.
    package var stays: Bool

    package struct Action: Hashable, Sendable {
        /// The key of the action; `default` for a click on the notification itself.
        package var key: String
        package var title: String

        package init(key: String, title: String) {
            self.key = key
            self.title = title
        }
    }

    package enum Urgency: UInt8, Hashable, Sendable {
        case low = 0
        case normal = 1
        case critical = 2
    }

    package init(appName: String, entry: String, title: String, body: String) {
        self.appName = appName
        self.entry = entry
        self.title = title
        self.body = body
        icon = ""
        replaces = 0
        actions = []
        urgency = .normal
        stays = false
    }
}

/// A running notification server.
package struct NotificationServer: Hashable, Sendable {
    /// An identifier made of the bus and the server's connection to it. It is never used again.
    package var identity: String
    /// The capabilities, with their names from `GetCapabilities`.
    package var capabilities: Set<String>

    package init(identity: String, capabilities: Set<String>) {
        self.identity = identity
        self.capabilities = capabilities
    }

    package var readsMarkup: Bool { capabilities.contains("body-markup") }
    package var hasActions: Bool { capabilities.contains("actions") }
}

/// An event about notifications on the session bus.
package enum DesktopEvent: Hashable, Sendable {
    /// The service has connected to a session bus. Clients of this bus have not received any earlier signals.
    case connected
    /// A dock has connected to the bus. The dock has not received any earlier signals.
    case dock
    /// The notification server has changed. Nil means that there is no server.
    case server(NotificationServer?)
    /// The notification with this token is shown, under this number of the server.
    case shown(token: Int64, number: UInt32)
    /// The notification with this token is not shown. `isGone` means that the server has left the bus.
    case refused(token: Int64, isGone: Bool, detail: String)
    /// The user has chosen an action. `server` is a server's identity.
    case chosen(server: String, number: UInt32, key: String)
    case closed(server: String, number: UInt32, CloseReason)

    package enum CloseReason: Hashable, Sendable {
        case expired
        case dismissed
        /// A call closed the notification, or the reason is one that the specification does not define.
        case other
    }
}

/// A request to the session bus.
enum DesktopRequest: Hashable, Sendable {
    case show(DesktopNotification, token: Int64)
    case close(UInt32, server: String)
    case badge(entry: String, count: Int)
    case startServer
}
