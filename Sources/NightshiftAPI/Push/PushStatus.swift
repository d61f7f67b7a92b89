package import Foundation

/// `GET /v1/push`: this device at its push gateway, and every app that has registered.
package struct PushStatus: Hashable, Sendable, Codable {
    /// Nil where the device is enrolled nowhere.
    package var enrolment: Enrolment?
    package var connection: Connection
    /// What the connection does or waits for, in a sentence.
    package var sentence: String
    /// When the next attempt, or the next keep-alive, is due.
    package var next: Date?
    /// Seconds between two keep-alives, as this network allows.
    package var keepAlive: Double?
    /// When the gateway was heard last.
    package var lastHeard: Date?
    package var apps: [AppPushStatus]
    /// Registrations for UnifiedPush; nil where there are none.
    package var unifiedPush: [UnifiedPushStatus]?

    package struct Enrolment: Hashable, Sendable, Codable {
        package var host: String
        package var port: Int
        /// The gateway's name for this device.
        package var device: String
        package var enrolled: Date

        package init(host: String, port: Int, device: String, enrolled: Date) {
            self.host = host
            self.port = port
            self.device = device
            self.enrolled = enrolled
        }
    }

    package enum Connection: String, Hashable, Sendable, Codable, CaseIterable {
        /// No app has registered, or the device is not enrolled: nothing is connected.
        case off
        case connecting
        case open
        /// The last attempt failed; the next one has its time.
        case waiting
        /// There is no network.
        case offline
    }

    package init(connection: Connection, sentence: String, apps: [AppPushStatus]) {
        self.connection = connection
        self.sentence = sentence
        self.apps = apps
    }
}

/// `POST /v1/push/enrolment`: the address that `nightshift-gateway enrolment create` has printed.
package struct PushEnrolmentRequest: Hashable, Sendable, Codable {
    /// `nightshift-push://host:port/code`.
    package var url: String
    /// The name under which the gateway lists the device; the machine's name unless given.
    package var name: String?
    /// PEM file of the authority that has signed the gateway's certificate; the system's authorities unless given.
    package var authority: String?

    package init(url: String, name: String? = nil, authority: String? = nil) {
        self.url = url
        self.name = name
        self.authority = authority
    }
}

/// `GET /v1/push/{app}`: one app's remote notifications as its user sees them.
package struct AppPushStatus: Hashable, Sendable, Codable {
    package var app: AppID
    package var name: String
    package var isRegistered: Bool
    /// Hexadecimal, for the app's provider; nil until the gateway has given one.
    package var token: String?
    /// Why there is no token though one is wanted.
    package var error: String?
    /// The user's word on notifications of the app.
    package var alerts: NotificationPermission
    /// What would become of a push that came now, in a sentence.
    package var sentence: String
    /// A silent push that waits for the app to be woken, and why.
    package var waiting: PushRecord?
    /// The last ones, oldest first; at most ``Limits/pushes``. Payloads are not in it.
    package var pushes: [PushRecord]
    /// Its registrations for UnifiedPush; nil where there are none.
    package var unifiedPush: [UnifiedPushStatus]?

    package init(app: AppID, name: String, alerts: NotificationPermission) {
        self.app = app
        self.name = name
        self.alerts = alerts
        isRegistered = false
        sentence = ""
        pushes = []
    }
}

/// One registration for UnifiedPush.
package struct UnifiedPushStatus: Hashable, Sendable, Codable {
    /// The app's name on the session's bus.
    package var app: AppID
    /// What the app says of it.
    package var about: String
    /// Where its senders send to; nil until the gateway has given it.
    package var endpoint: String?
    /// Of the interfaces that the app speaks: 1 or 2.
    package var version: Int
    /// Messages that wait for the app.
    package var waiting: Int
    /// When the last message came, as far as that is remembered.
    package var last: Date?
    /// What it does or waits for.
    package var sentence: String

    package init(app: AppID, about: String, version: Int, sentence: String) {
        self.app = app
        self.about = about
        self.version = version
        self.sentence = sentence
        waiting = 0
    }
}

/// One push that came to this device.
package struct PushRecord: Hashable, Sendable, Codable {
    /// The provider's `apns-id`.
    package var id: String
    package var received: Date
    package var priority: Int
    package var isSilent: Bool
    package var hasAlert: Bool
    package var state: State
    /// What was decided, in a sentence.
    package var sentence: String
    /// When the app was woken for it, when it had handled it, and with what result.
    package var woken: Date?
    package var ended: Date?
    package var result: RefreshResult?
    /// When its alert was shown.
    package var shown: Date?
    /// How far its alert is; nil where it has none, and where nothing is known of it yet.
    package var alert: AlertState?

    package enum State: String, Hashable, Sendable, Codable, CaseIterable {
        /// It waits for what the sentence says.
        case waiting
        /// The app was woken for it, and has not handled it yet.
        case running
        case handled
        /// It has an alert alone, which was shown; the app was not woken.
        case shown
        /// The same, but its alert waits or is not shown: ``PushRecord/alert`` says why.
        case notShown
        case discarded
    }

    package init(id: String, received: Date, priority: Int, isSilent: Bool, hasAlert: Bool) {
        self.id = id
        self.received = received
        self.priority = priority
        self.isSilent = isSilent
        self.hasAlert = hasAlert
        state = .waiting
        sentence = ""
    }
}

/// How far the alert of a push is on its way to the screen.
package enum AlertState: String, Hashable, Sendable, Codable, CaseIterable {
    // It waits.
    /// Nobody has said yet whether notifications of the app are shown.
    case permission
    /// No notification server runs.
    case server
    // It has come to its end.
    case shown
    /// It had no text, and has set the badge.
    case badge
    /// It had neither a text nor a badge: a sound alone is not played.
    case noText
    case denied
    /// The app was in front, and did not have it shown.
    case inApp
    /// The notification server does not show it.
    case refused
    /// A newer one with its identifier has replaced it.
    case replaced
    /// Too many of the app waited.
    case crowded

    /// Whether nothing follows.
    package var isFinal: Bool { self != .permission && self != .server }

    /// - Parameter app: the app that the alert is from.
    package func sentence(of app: AppID) -> String {
        let command = "nightshift app notifications \(app.rawValue)"
        return switch self {
        case .permission:
            "The alert waits until you allow or deny notifications of the app: '\(command) --allow' shows them, "
                + "'\(command) --deny' does not."
        case .server: "No notification server is running. The alert is shown when one starts."
        case .shown: "The alert was shown."
        case .badge: "The push has no text. It set the badge of the app, and nothing else was shown."
        case .noText: "The push has no text, so nothing was shown. A sound is played only together with a text."
        case .denied:
            "You denied notifications of the app, so the alert was not shown. '\(command) --allow' shows the next ones."
        case .inApp: "The app was in the foreground and decided not to show the alert."
        case .refused: "The notification server refused the alert. It is only in the app's list of notifications."
        case .replaced: "A newer push with the same identifier replaced the alert before it was shown."
        case .crowded: "\(Limits.notifications) newer notifications of the app were waiting, so the alert was not kept."
        }
    }
}

/// `PATCH /v1/push/{app}`: its user's word.
package struct AppPushChange: Hashable, Sendable, Codable {
    package var alerts: NotificationPermission?

    package init(alerts: NotificationPermission? = nil) {
        self.alerts = alerts
    }
}

/// An event `push` of `GET /v1/process/commands`: after `hello` for an app that has registered, and whenever it changes.
package struct PushNotice: Hashable, Sendable, Codable {
    /// Hexadecimal; nil where there is none yet, or none can be had.
    package var token: String?
    /// Why none can be had, in a sentence.
    package var error: String?

    package init(token: String? = nil, error: String? = nil) {
        self.token = token
        self.error = error
    }
}

/// The payload of a wake of the source `push`: what the provider has sent, as it came.
package struct PushDelivery: Hashable, Sendable, Codable {
    /// The provider's `apns-id`.
    package var id: String
    /// The provider's JSON object, untouched.
    package var payload: String
    package var received: Date

    package init(id: String, payload: String, received: Date) {
        self.id = id
        self.payload = payload
        self.received = received
    }
}
