package import Foundation

/// The response of `GET /v1/push`: the connection of this device to its push gateway, and all registered apps.
package struct PushStatus: Hashable, Sendable, Codable {
    /// The enrolment; nil if the device is not enrolled.
    package var enrolment: Enrolment?
    package var connection: Connection
    /// The state of the connection, as a sentence.
    package var sentence: String
    /// The time of the next attempt to connect or of the next keep-alive.
    package var next: Date?
    /// The keep-alive interval, in seconds, that works on this network.
    package var keepAlive: Double?
    /// The time of the last message from the gateway.
    package var lastHeard: Date?
    package var apps: [AppPushStatus]
    /// The UnifiedPush registrations; nil if there are none.
    package var unifiedPush: [UnifiedPushStatus]?

    package struct Enrolment: Hashable, Sendable, Codable {
        package var host: String
        package var port: Int
        /// The name that the gateway uses for this device.
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
        /// The state without a connection because no app has registered or the device is not enrolled.
        case off
        case connecting
        case open
        /// The state after a failure, until the next attempt. The time of the next attempt is set.
        case waiting
        /// The state without a connection because no network is available.
        case offline
    }

    package init(connection: Connection, sentence: String, apps: [AppPushStatus]) {
        self.connection = connection
        self.sentence = sentence
        self.apps = apps
    }
}

/// The body of `POST /v1/push/enrolment`: the address that `nightshift-gateway enrolment create` printed.
package struct PushEnrolmentRequest: Hashable, Sendable, Codable {
    /// The address, such as `nightshift-push://host:port/code`.
    package var url: String
    /// The name of the device in the lists of the gateway. The default is the host name.
    package var name: String?
    /// The path of the PEM file of the authority that signed the gateway's certificate. By default, the system's
    /// authorities are used.
    package var authority: String?

    package init(url: String, name: String? = nil, authority: String? = nil) {
        self.url = url
        self.name = name
        self.authority = authority
    }
}

/// The response of `GET /v1/push/{app}`: the remote notifications of one app, for the user.
package struct AppPushStatus: Hashable, Sendable, Codable {
    package var app: AppID
    package var name: String
    package var isRegistered: Bool
    /// The device token in hexadecimal, for the app's provider; nil until the gateway has assigned a token.
    package var token: String?
    /// The reason why the app has no token although it registered.
    package var error: String?
    /// The notification permission of the app.
    package var alerts: NotificationPermission
    /// A sentence that explains how a push would be handled now.
    package var sentence: String
    /// A silent push that waits until the app can be woken, with the reason.
    package var waiting: PushRecord?
    /// The latest pushes, with the oldest first. There are at most ``Limits/pushes``. Payloads are not included.
    package var pushes: [PushRecord]
    /// The UnifiedPush registrations of the app; nil if it has none.
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

/// One UnifiedPush registration.
package struct UnifiedPushStatus: Hashable, Sendable, Codable {
    /// The name of the app on the session bus.
    package var app: AppID
    /// The description that the app gave for the registration.
    package var about: String
    /// The URL to which senders send messages; nil until the gateway has assigned it.
    package var endpoint: String?
    /// The version of the D-Bus interfaces that the app uses: 1 or 2.
    package var version: Int
    /// The number of messages that wait for the app.
    package var waiting: Int
    /// The time of the last message; nil if it is no longer recorded.
    package var last: Date?
    /// The state of the registration, as a sentence.
    package var sentence: String

    package init(app: AppID, about: String, version: Int, sentence: String) {
        self.app = app
        self.about = about
        self.version = version
        self.sentence = sentence
        waiting = 0
    }
}

/// One push that this device received.
package struct PushRecord: Hashable, Sendable, Codable {
    /// The `apns-id` that the provider set.
    package var id: String
    package var received: Date
    package var priority: Int
    package var isSilent: Bool
    package var hasAlert: Bool
    package var state: State
    /// The decision about the push, as a sentence.
    package var sentence: String
    /// The time at which the app was woken for the push.
    package var woken: Date?
    /// The time at which the app had handled the push.
    package var ended: Date?
    package var result: RefreshResult?
    /// The time at which the alert of the push was shown.
    package var shown: Date?
    /// The state of the push's alert; nil if the push has no alert, or if the state is not known yet.
    package var alert: AlertState?

    package enum State: String, Hashable, Sendable, Codable, CaseIterable {
        /// The state of a push that waits for the reason in the sentence.
        case waiting
        /// The state of a push for which the app was woken but which the app has not handled yet.
        case running
        case handled
        /// The state of a push with only an alert, which was shown. The app was not woken.
        case shown
        /// The state of a push with only an alert, which waits or is not shown. ``PushRecord/alert`` gives the reason.
        case notShown
        case discarded

        /// The name of the state for display.
        package var name: String {
            switch self {
            case .running: "being handled by the app"
            case .notShown: "not shown"
            case .waiting, .handled, .shown, .discarded: rawValue
            }
        }
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

/// The state of the alert of a push.
package enum AlertState: String, Hashable, Sendable, Codable, CaseIterable {
    // In these states, the alert waits.
    /// The alert waits until the user decides whether notifications of the app are shown.
    case permission
    /// The alert waits because no notification server is running.
    case server
    // These states are final.
    case shown
    /// The alert had no text and only set the badge.
    case badge
    /// The alert had neither a text nor a badge. A sound alone is not played.
    case noText
    case denied
    /// The state of an alert that the app, which was in the foreground, decided not to show.
    case inApp
    /// The notification server refused the alert.
    case refused
    /// A newer alert with the same identifier replaced this one.
    case replaced
    /// The alert was dropped because too many alerts of the app were waiting.
    case crowded

    /// Whether the state will not change.
    package var isFinal: Bool { self != .permission && self != .server }

    /// Returns a sentence about the state.
    ///
    /// - Parameter app: The app to which the alert belongs.
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

/// The body of `PATCH /v1/push/{app}`: the user's settings for the app.
package struct AppPushChange: Hashable, Sendable, Codable {
    package var alerts: NotificationPermission?

    package init(alerts: NotificationPermission? = nil) {
        self.alerts = alerts
    }
}

/// A `push` event of `GET /v1/process/commands`. It is sent to registered apps after `hello` and after every change.
package struct PushNotice: Hashable, Sendable, Codable {
    /// The device token in hexadecimal; nil while no token is available.
    package var token: String?
    /// The reason why no token is available, as a sentence.
    package var error: String?

    package init(token: String? = nil, error: String? = nil) {
        self.token = token
        self.error = error
    }
}

/// The payload of a wake from the source `push`: the message of the provider, unchanged.
package struct PushDelivery: Hashable, Sendable, Codable {
    /// The `apns-id` that the provider set.
    package var id: String
    /// The JSON object of the provider, unchanged.
    package var payload: String
    package var received: Date

    package init(id: String, payload: String, received: Date) {
        self.id = id
        self.payload = payload
        self.received = received
    }
}
