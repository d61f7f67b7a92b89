package import Foundation

/// The first event, `hello`, of `GET /v1/process/commands`: who the service takes the calling process for.
package struct ProcessHello: Hashable, Sendable, Codable {
    package var app: AppID
    /// Whether a desktop entry is installed: without one nothing can launch it in the background.
    package var isInstalled: Bool
    /// Whether the service launched it and may suspend it.
    package var isManaged: Bool
    package var state: AppState
    /// The absolute path of the file that holds ``BackgroundClock``; nil for a process whose time has no limit.
    package var clock: String?
    /// Names this stream and no other one: requests that carry it in ``channelField`` are refused once another stream has taken
    /// its place, also by a service that was started since.
    package var channel: String?

    /// The header field of requests that are meant for one stream.
    package static let channelField = "Nightshift-Channel"

    package init(app: AppID, isInstalled: Bool, isManaged: Bool, state: AppState, clock: String? = nil) {
        self.app = app
        self.isInstalled = isInstalled
        self.isManaged = isManaged
        self.state = state
        self.clock = clock
    }

    /// The channel of a process that does not know the word for a state is open all the same: commands say what to do.
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

/// An event `command` of `GET /v1/process/commands`: something the app is to do and then acknowledge by its number.
package struct ProcessCommand: Hashable, Sendable, Codable {
    /// Grows with every command to this process.
    package var number: Int64
    package var action: Action
    /// For ``Action/enter``: the new state.
    package var state: AppState?
    /// For ``Action/handleEvents``: the session, as the app calls it.
    package var session: String?
    /// For ``Action/handleEvents``: the session's events are finished when the message of this id has been handled.
    /// For ``Action/handleWake``: the number of what the app is woken for, the same when it comes again.
    package var through: Int64?
    /// For ``Action/handleWake``: what the app is woken for.
    package var source: WakeSource?
    /// For ``Action/handleWake``: what of the source it is about, such as a region's identifier.
    package var key: String?
    /// For ``Action/handleWake``: what the source has to say, in its own form.
    package var payload: Data?
    /// Seconds within which it has to be acknowledged.
    package var limit: Double?

    package enum Action: String, Sendable, Codable, CaseIterable {
        /// The app's state has changed: acknowledged when its delegate has returned.
        case enter
        /// `handleEventsForBackgroundURLSession`: acknowledged when its completion handler is called.
        case handleEvents
        /// Another wake than a session's: acknowledged when its completion handler is called.
        case handleWake
        /// A picture for the app switcher is wanted: acknowledged when it was sent, or when there is none.
        case snapshot
        /// Background time is nearly over: acknowledged when every expiration handler has returned.
        case expire
        /// The time of one wake is nearly over, or it is not to go on: `source`, `key` and `through` say which. Acknowledged when its
        /// expiration handler has returned; the wake is completed by its own command.
        case expireWake
        /// A notification is about to be shown while the app is in front: `key` is its identifier, `payload` the ``AppNotification``.
        /// Acknowledged with what of it is shown.
        case present
        /// The app is to end itself: `willTerminate`, then exit.
        case terminate
    }

    package init(number: Int64, action: Action) {
        self.number = number
        self.action = action
    }
}

/// `POST /v1/process/acknowledge`.
package struct CommandAcknowledgement: Sendable, Codable {
    package var command: Int64
    /// For ``ProcessCommand/Action/handleWake``: what came of it; ``RefreshResult/newData`` unless given.
    package var result: RefreshResult?
    /// For ``ProcessCommand/Action/present``: bits of `UNNotificationPresentationOptions` (badge 1, sound 2, alert 4, list 8, banner 16);
    /// 0 for nothing, nil where the app leaves it to the service, which shows it as it was sent.
    package var presentation: Int?

    /// What a sum of those bits can be.
    package static let presentations = 0...31

    package init(command: Int64, result: RefreshResult? = nil) {
        self.command = command
        self.result = result
    }
}

/// `POST /v1/process/state`: the app itself, or its window system, says that it came to the front or left it.
package struct ProcessStateChange: Sendable, Codable {
    /// `active`, `inactive` or `background`.
    package var state: AppState

    package init(state: AppState) {
        self.state = state
    }
}

/// `PUT /v1/process/sessions/{identifier}` answers with this: the session is there.
package struct SessionAttachment: Hashable, Sendable, Codable {
    package var session: SessionID
    /// The number the session's next task may have.
    package var nextTaskIdentifier: Int64

    package init(session: SessionID, nextTaskIdentifier: Int64) {
        self.session = session
        self.nextTaskIdentifier = nextTaskIdentifier
    }
}

/// One task as the app that made it sees it.
package struct SessionTask: Hashable, Sendable, Codable {
    package var task: TaskStatus
    /// What the app's library noted with the task; nobody else reads it.
    package var clientData: String?
    /// From where a task made from resume data went on, once it has.
    package var resumedAt: Int64?
    /// Cookies that servers have set, redirects on the way included.
    package var cookies: [SetCookie]?

    package init(task: TaskStatus, clientData: String?, resumedAt: Int64?) {
        self.task = task
        self.clientData = clientData
        self.resumedAt = resumedAt
    }
}

/// A page of the tasks that have not ended, in the order of their ids; `next` is the `after` of the following page.
package struct SessionTaskPage: Sendable, Codable {
    package var tasks: [SessionTask]
    package var next: TaskID?

    package init(tasks: [SessionTask], next: TaskID?) {
        self.tasks = tasks
        self.next = next
    }
}

/// An event `message` of `GET /v1/process/sessions/{identifier}/messages`: kept until it is acknowledged or answered.
package struct SessionMessage: Hashable, Sendable, Codable {
    /// Grows; the event's `id`.
    package var id: Int64
    package var kind: Kind
    package var task: SessionTask
    /// For ``Kind/challenge``.
    package var challenge: Challenge?

    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// A task made from resume data has gone on.
        case resumed
        /// The task has ended; its file stays until this is acknowledged.
        case ended
        /// A server wants an answer; answered, not acknowledged.
        case challenge
        /// The begin date has come; answered, not acknowledged.
        case delayedRequest
    }

    package init(id: Int64, kind: Kind, task: SessionTask, challenge: Challenge? = nil) {
        self.id = id
        self.kind = kind
        self.task = task
        self.challenge = challenge
    }
}

/// The data of a `caughtUp` event: every message up to this one that is still kept has been sent.
package struct CaughtUp: Hashable, Sendable, Codable {
    package var through: Int64

    package init(through: Int64) {
        self.through = through
    }
}

extension SessionMessage.Kind {
    /// Whether something waits for the app's answer.
    package var isQuestion: Bool { self == .challenge || self == .delayedRequest }
}

/// `POST /v1/process/sessions/{identifier}/acknowledge`: these messages have been handled and are not wanted again.
package struct MessageAcknowledgement: Sendable, Codable {
    package var messages: [Int64]

    package init(messages: [Int64]) {
        self.messages = messages
    }
}

/// What a server asks for (URLProtectionSpace and URLAuthenticationChallenge).
package struct Challenge: Hashable, Sendable, Codable {
    package var method: Method
    package var host: String
    package var port: Int
    /// `http` or `https`.
    package var scheme: String
    package var realm: String?
    package var isProxy: Bool
    package var previousFailureCount: Int
    /// For ``Method/serverTrust``: the chain in DER, base64, the server's own certificate first.
    package var certificates: [String]?
    /// For ``Method/serverTrust``: why the system does not trust it.
    package var reason: String?
    /// The response that asks; nil where the question is about the connection.
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

/// `POST /v1/process/sessions/{identifier}/answers`: the app's answer to a question.
package struct MessageAnswer: Sendable, Codable {
    package var message: Int64
    package var disposition: Disposition
    /// With ``Disposition/useCredential``, for Basic and Digest.
    package var credential: Credential?
    /// With ``Disposition/useCredential``, for a client certificate: PEM files.
    package var clientCertificate: String?
    package var clientKey: String?
    /// With ``Disposition/continueLoading``: the request to send in place of the task's own.
    package var request: TaskRequest?
    package var clientData: String?

    package enum Disposition: String, Sendable, Codable, CaseIterable {
        /// Also the answer of those who trust the server.
        case useCredential
        case performDefaultHandling
        /// This protection space is not for the app; the next one the server offers may be.
        case rejectProtectionSpace
        /// The task ends as cancelled.
        case cancel
        case continueLoading
    }

    package init(message: Int64, disposition: Disposition) {
        self.message = message
        self.disposition = disposition
    }
}

/// One task of `POST /v1/process/sessions/{identifier}/tasks`.
package struct SessionTaskRequest: Sendable, Codable {
    /// The number that the app has given it, unique in its session.
    package var taskIdentifier: Int64
    package var request: TaskRequest
    package var clientData: String?
    /// Whether the app wants to be asked when the begin date has come.
    package var asksBeforeBeginning: Bool?
    /// The source, as the calling process has it open: the service's copy is made from there, and what lies under the source's name
    /// may change or go as soon as this is sent.
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
