/// A notification of org.freedesktop.Notifications (Desktop Notifications Specification 1.2).
package struct DesktopNotification: Hashable, Sendable {
    package var appName: String
    /// A name of the icon theme, or a path; empty for no icon.
    package var icon: String
    /// The server's number of the notification to replace; 0 for none.
    package var replaces: UInt32
    package var title: String
    /// The body. It is markup if the server supports that.
    package var body: String
    package var actions: [Action]
    /// The name of the app's desktop entry, without `.desktop`.
    package var entry: String
    package var urgency: Urgency
    package var category: String?
    /// A name of the sound theme; nil for silence.
    package var sound: String?
    /// Whether it stays until it is answered. Otherwise the server chooses the time.
    package var stays: Bool

    package struct Action: Hashable, Sendable {
        /// The action's key; `default` for a click on the notification itself.
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

/// The notification server that is running.
package struct NotificationServer: Hashable, Sendable {
    /// The bus and the server's connection to it. The combination is never used again.
    package var identity: String
    /// The capabilities in the names of `GetCapabilities`.
    package var capabilities: Set<String>

    package init(identity: String, capabilities: Set<String>) {
        self.identity = identity
        self.capabilities = capabilities
    }

    package var readsMarkup: Bool { capabilities.contains("body-markup") }
    package var hasActions: Bool { capabilities.contains("actions") }
}

/// An event of the session bus about notifications.
package enum DesktopEvent: Hashable, Sendable {
    /// The session bus is connected. Its clients have not received anything that was emitted before.
    case connected
    /// A dock has connected to the bus. It has not received anything that was emitted before.
    case dock
    /// The server has changed; nil if there is no server.
    case server(NotificationServer?)
    /// The notification sent with a token is shown under this number.
    case shown(token: Int64, number: UInt32)
    /// The notification sent with a token is not shown. `isGone` means that its server is no longer there.
    case refused(token: Int64, isGone: Bool, detail: String)
    /// The user has chosen an action. `server` is an identity.
    case chosen(server: String, number: UInt32, key: String)
    case closed(server: String, number: UInt32, CloseReason)

    package enum CloseReason: Hashable, Sendable {
        case expired
        case dismissed
        /// Closed by a call, or for a reason that the specification does not define.
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
