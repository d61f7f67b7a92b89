package import Foundation

/// The first event, `hello`, of `GET /v1/process/commands`. It describes the app that the service identified for the
/// calling process.
package struct ProcessHello: Hashable, Sendable, Codable {
    package var app: AppID
    /// Whether the app has an installed desktop entry. An app without an entry cannot be launched in the background.
    package var isInstalled: Bool
    /// Whether the service launched the process and may suspend it.
    package var isManaged: Bool
    package var state: AppState
    /// The absolute path of the file with the ``BackgroundClock``; nil for a process whose time has no limit.
    package var clock: String?
    /// The unique id of this stream. Requests can carry this id in ``channelField``. The service refuses these requests
    /// once another stream has replaced this stream, even after a restart of the service.
    package var channel: String?

    /// The header field of requests that are valid only with one stream.
    package static let channelField = "Nightshift-Channel"

    package init(app: AppID, isInstalled: Bool, isManaged: Bool, state: AppState, clock: String? = nil) {
        self.app = app
        self.isInstalled = isInstalled
        self.isManaged = isManaged
        self.state = state
        self.clock = clock
    }

    /// Decodes the event. An unknown state must not make the event unreadable, because the process needs the commands
    /// that follow.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        app = try container.decode(AppID.self, forKey: .app)
        isInstalled = try container.decode(Bool.self, forKey: .isInstalled)
        isManaged = try container.decode(Bool.self, forKey: .isManaged)
        state = (try? container.decode(AppState.self, forKey: .state)) ?? .inactive
        clock = try container.decodeIfPresent(String.self, forKey: .clock)
        channel = try container.decodeIfPresent(String.self, forKey: .channel)
    }
}

/// A `command` event of `GET /v1/process/commands`. It names an action that the app must perform and then acknowledge
/// by its number.
package struct ProcessCommand: Hashable, Sendable, Codable {
    /// The number of the command. It increases with every command to this process.
    package var number: Int64
    package var action: Action
    /// The new state, for ``Action/enter``.
    package var state: AppState?
    /// The identifier that the app uses for the session, for ``Action/handleEvents``.
    package var session: String?
    /// The id of the last message of the session's events, for ``Action/handleEvents``. The events are finished when
    /// the app has handled this message.
    ///
    /// For ``Action/handleWake``, it is the number of the wake. It stays the same if the command is repeated.
    package var through: Int64?
    /// The source of the wake, for ``Action/handleWake``.
    package var source: WakeSource?
    /// The item of the source, such as the identifier of a region, for ``Action/handleWake``.
    package var key: String?
    /// The data of the wake in the format of its source, for ``Action/handleWake``.
    package var payload: Data?
    /// The number of seconds within which the app must acknowledge the command.
    package var limit: Double?

    package enum Action: String, Sendable, Codable, CaseIterable {
        /// A change of the app's state. The app acknowledges it when the delegate method has returned.
        case enter
        /// A call to `handleEventsForBackgroundURLSession`. The app acknowledges it when the completion handler is
        /// called.
        case handleEvents
        /// A wake of any source except sessions. The app acknowledges it when the completion handler is called.
        case handleWake
        /// A request for a snapshot for the app switcher. The app acknowledges the request when it has sent the
        /// snapshot, or when it has no picture.
        case snapshot
        /// A warning that background time is about to end. The app acknowledges it when every expiration handler has
        /// returned.
        case expire
        /// A warning that the time of one wake is about to end, or that its work must stop. `source`, `key` and
        /// `through` identify the wake. The app acknowledges this command when the expiration handler of the wake has
        /// returned. It completes the wake separately, with the number of the wake's own command.
        case expireWake
        /// A notification that is about to be shown while the app is in the foreground. `key` is its identifier, and
        /// `payload` is the ``AppNotification``. The acknowledgement of the app says which parts of the notification to
        /// show.
        case present
        /// A request to the app to end itself. The app calls `willTerminate` and then exits.
        case terminate
    }

    package init(number: Int64, action: Action) {
        self.number = number
        self.action = action
    }
}

/// The body of `POST /v1/process/acknowledge`.
package struct CommandAcknowledgement: Sendable, Codable {
    package var command: Int64
    /// The result of a ``ProcessCommand/Action/handleWake``; ``RefreshResult/newData`` by default.
    package var result: RefreshResult?
    /// The answer to ``ProcessCommand/Action/present``. It is a sum of bits of `UNNotificationPresentationOptions`
    /// (badge 1, sound 2, alert 4, list 8, banner 16).
    ///
    /// With 0, nothing is shown. With nil, the service decides and shows the notification in the form in which it was
    /// sent.
    package var presentation: Int?

    /// The range of the possible sums of bits in ``presentation``.
    package static let presentations = 0...31

    package init(command: Int64, result: RefreshResult? = nil) {
        self.command = command
        self.result = result
    }
}

/// The body of `POST /v1/process/state`, by which the app itself or its window system reports that the app came to the
/// foreground or left it.
package struct ProcessStateChange: Sendable, Codable {
    /// The new state: `active`, `inactive` or `background`.
    package var state: AppState

    package init(state: AppState) {
        self.state = state
    }
}

/// The response of `PUT /v1/process/sessions/{identifier}`, which creates the session if necessary.
package struct SessionAttachment: Hashable, Sendable, Codable {
    package var session: SessionID
    /// The number that the next task of the session may use.
    package var nextTaskIdentifier: Int64

    package init(session: SessionID, nextTaskIdentifier: Int64) {
        self.session = session
        self.nextTaskIdentifier = nextTaskIdentifier
    }
}

/// A transfer from the view of the app that created it.
package struct SessionTask: Hashable, Sendable, Codable {
    package var task: TaskStatus
    /// The client data that the app's library stored with the transfer. Nothing else reads it.
    package var clientData: String?
    /// The offset from which a transfer with resume data continued; nil until it has continued.
    package var resumedAt: Int64?
    /// The cookies that servers set, including servers that redirected.
    package var cookies: [SetCookie]?

    package init(task: TaskStatus, clientData: String?, resumedAt: Int64?) {
        self.task = task
        self.clientData = clientData
        self.resumedAt = resumedAt
    }
}

/// A page of the transfers that have not ended, in the order of their ids. `next` is the value of `after` for the
/// following page.
package struct SessionTaskPage: Sendable, Codable {
    package var tasks: [SessionTask]
    package var next: TaskID?

    package init(tasks: [SessionTask], next: TaskID?) {
        self.tasks = tasks
        self.next = next
    }
}

/// A `message` event of `GET /v1/process/sessions/{identifier}/messages`. The service stores the message until the app
/// acknowledges or answers it.
package struct SessionMessage: Hashable, Sendable, Codable {
    /// The number of the message. It increases with every message, and is the `id` of the event.
    package var id: Int64
    package var kind: Kind
    package var task: SessionTask
    /// The challenge, for ``Kind/challenge``.
    package var challenge: Challenge?

    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// The notice that a transfer with resume data has continued.
        case resumed
        /// The notice that the transfer has ended. Its file is kept until the app acknowledges this message.
        case ended
        /// An authentication challenge of a server. The app answers this message instead of acknowledging it.
        case challenge
        /// The notice that a delayed transfer has reached its start time. The app answers this message instead of
        /// acknowledging it.
        case delayedRequest
    }

    package init(id: Int64, kind: Kind, task: SessionTask, challenge: Challenge? = nil) {
        self.id = id
        self.kind = kind
        self.task = task
        self.challenge = challenge
    }
}

/// The data of a `caughtUp` event, which means that every stored message up to this one has been sent.
package struct CaughtUp: Hashable, Sendable, Codable {
    package var through: Int64

    package init(through: Int64) {
        self.through = through
    }
}

extension SessionMessage.Kind {
    /// Whether the message requires an answer from the app.
    package var isQuestion: Bool { self == .challenge || self == .delayedRequest }
}

/// The body of `POST /v1/process/sessions/{identifier}/acknowledge`. It lists messages that the app has handled and
/// that need not be sent again.
package struct MessageAcknowledgement: Sendable, Codable {
    package var messages: [Int64]

    package init(messages: [Int64]) {
        self.messages = messages
    }
}

/// An authentication challenge of a server (URLProtectionSpace and URLAuthenticationChallenge).
package struct Challenge: Hashable, Sendable, Codable {
    package var method: Method
    package var host: String
    package var port: Int
    /// The scheme, `http` or `https`.
    package var scheme: String
    package var realm: String?
    package var isProxy: Bool
    package var previousFailureCount: Int
    /// The certificate chain for ``Method/serverTrust``: DER in base64, beginning with the certificate of the server.
    package var certificates: [String]?
    /// The reason why the system does not trust the certificate, for ``Method/serverTrust``.
    package var reason: String?
    /// The response with the challenge; nil if the challenge concerns the connection.
    package var response: ResponseSummary?

    package enum Method: String, Sendable, Codable, CaseIterable {
        case basic
        case digest
        case clientCertificate
        case serverTrust
    }

    package init(method: Method, host: String, port: Int, scheme: String) {
        self.method = method
        self.host = host
        self.port = port
        self.scheme = scheme
        isProxy = false
        previousFailureCount = 0
    }
}

/// The body of `POST /v1/process/sessions/{identifier}/answers`: the app's answer to a message.
package struct MessageAnswer: Sendable, Codable {
    package var message: Int64
    package var disposition: Disposition
    /// The credential for Basic and Digest, with ``Disposition/useCredential``.
    package var credential: Credential?
    /// The path of the PEM file of a client certificate, with ``Disposition/useCredential``.
    package var clientCertificate: String?
    package var clientKey: String?
    /// The request to send instead of the original one, with ``Disposition/continueLoading``.
    package var request: TaskRequest?
    package var clientData: String?

    package enum Disposition: String, Sendable, Codable, CaseIterable {
        /// The use of the credential. For server trust, it means that the app trusts the server.
        case useCredential
        case performDefaultHandling
        /// The rejection of this protection space. The app may accept the next one that the server offers.
        case rejectProtectionSpace
        /// The cancellation of the transfer.
        case cancel
        case continueLoading
    }

    package init(message: Int64, disposition: Disposition) {
        self.message = message
        self.disposition = disposition
    }
}

/// One transfer of `POST /v1/process/sessions/{identifier}/tasks`.
package struct SessionTaskRequest: Sendable, Codable {
    /// The number that the app gave the transfer. It is unique in its session.
    package var taskIdentifier: Int64
    package var request: TaskRequest
    package var clientData: String?
    /// Whether the service must ask the app before a delayed transfer starts.
    package var asksBeforeBeginning: Bool?
    /// The file descriptor of the source in the calling process. The service copies the file through this descriptor,
    /// so the file at the path of the source may change or be removed as soon as the request is sent.
    package var sourceDescriptor: Int32?

    package init(taskIdentifier: Int64, request: TaskRequest, clientData: String? = nil) {
        self.taskIdentifier = taskIdentifier
        self.request = request
        self.clientData = clientData
    }
}

package struct SessionEnqueueRequest: Sendable, Codable {
    package var tasks: [SessionTaskRequest]

    package init(tasks: [SessionTaskRequest]) {
        self.tasks = tasks
    }
}
