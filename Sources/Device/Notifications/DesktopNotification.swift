/// A notification as org.freedesktop.Notifications has it (Desktop Notifications Specification 1.2).
package struct DesktopNotification: Hashable, Sendable {
    package var appName: String
    /// A name of the icon theme, or a path; empty for none.
    package var icon: String
    /// The server's number of the one whose place this one takes; 0 for none.
    package var replaces: UInt32
    package var title: String
    /// Markup, where the server says that it reads it.
    package var body: String
    package var actions: [Action]
    /// The name of the app's desktop entry, without `.desktop`.
    package var entry: String
    package var urgency: Urgency
    package var category: String?
    /// A name of the sound theme; nil for silence.
    package var sound: String?
    /// Whether it stays until somebody answers it; else as long as the server thinks fit.
    package var stays: Bool

    package struct Action: Hashable, Sendable {
        /// `default` for a choice of the notification itself.
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

/// The notification server that runs.
package struct NotificationServer: Hashable, Sendable {
    /// The bus and the server's connection to it, which no other one ever has.
    package var identity: String
    /// As `GetCapabilities` names them.
    package var capabilities: Set<String>

    package init(identity: String, capabilities: Set<String>) {
        self.identity = identity
        self.capabilities = capabilities
    }

    package var readsMarkup: Bool { capabilities.contains("body-markup") }
    package var hasActions: Bool { capabilities.contains("actions") }
}

/// What the session's bus says of notifications.
package enum DesktopEvent: Hashable, Sendable {
    /// There is a connection to the session's bus, and nobody on it has seen what was emitted before.
    case connected
    /// A dock has come to the bus, and has not seen what was emitted before.
    case dock
    /// Another server is there, or none.
    case server(NotificationServer?)
    /// The notification that was sent with a token has this number.
    case shown(token: Int64, number: UInt32)
    /// The one that was sent with a token is not shown. `isGone`: its server is not there (any more).
    case refused(token: Int64, isGone: Bool, detail: String)
    /// Its user has chosen an action. `server` is an identity.
    case chosen(server: String, number: UInt32, key: String)
    case closed(server: String, number: UInt32, CloseReason)

    package enum CloseReason: Hashable, Sendable {
        case expired
        case dismissed
        /// By a call, or for a reason that the specification does not define.
        case other
    }
}

/// What is asked of the session's bus.
enum DesktopRequest: Hashable, Sendable {
    case show(DesktopNotification, token: Int64)
    case close(UInt32, server: String)
    case badge(entry: String, count: Int)
    case startServer
}
