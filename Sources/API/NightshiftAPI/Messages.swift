package import Foundation

/// The body of `POST /v1/tasks`: up to ``Limits/tasksPerRequest`` transfers. Either all are accepted or none.
package struct EnqueueRequest: Sendable, Codable {
    /// The session of the transfers; `terminal` by default. If the session does not exist, the service creates it with
    /// default settings.
    package var session: SessionID?
    /// The app for which the transfers are added. In this case, `session` is the identifier that the app uses for its
    /// session, and the app is woken when the last transfer of the session ends.
    package var app: AppID?
    package var tasks: [TaskRequest]

    package init(session: SessionID? = nil, app: AppID? = nil, tasks: [TaskRequest]) {
        self.session = session
        self.app = app
        self.tasks = tasks
    }
}

/// The ids of the accepted transfers, in the order of the request. The transfers are already stored on disk.
package struct EnqueueResponse: Sendable, Codable {
    package var ids: [TaskID]
    /// The ids in ``ids`` of transfers that already existed (``TakenName/join``); nil if all transfers are new.
    package var joined: [TaskID]?

    package init(ids: [TaskID], joined: [TaskID] = []) {
        self.ids = ids
        self.joined = joined.isEmpty ? nil : joined
    }
}

/// A page of transfers. `next` is the value of `after` for the following page.
package struct TaskPage: Sendable, Codable {
    package var tasks: [TaskStatus]
    /// The transfers in the range of this page whose rows cannot be read; nil if all can be read. You can only remove
    /// such transfers.
    package var unreadable: [UnreadableTask]?
    package var next: TaskID?

    package init(tasks: [TaskStatus], unreadable: [UnreadableTask] = [], next: TaskID?) {
        self.tasks = tasks
        self.unreadable = unreadable.isEmpty ? nil : unreadable
        self.next = next
    }
}

/// A transfer whose row cannot be read.
package struct UnreadableTask: Hashable, Sendable, Codable {
    package var id: TaskID
    /// A description of the problem for display.
    package var reason: String

    package init(id: TaskID, reason: String) {
        self.id = id
        self.reason = reason
    }
}

/// A page of the journal, with the oldest entry first.
package struct JournalPage: Sendable, Codable {
    package var entries: [JournalEntry]
    package var next: Int64?

    package init(entries: [JournalEntry], next: Int64?) {
        self.entries = entries
        self.next = next
    }
}

package struct SessionList: Sendable, Codable {
    package var sessions: [SessionStatus]

    package init(sessions: [SessionStatus]) {
        self.sessions = sessions
    }
}

/// The body of `PATCH /v1/tasks/{id}`. Values that are nil stay unchanged. A rate limit of 0 means no limit.
package struct TaskChange: Sendable, Equatable, Codable {
    package var priority: Double?
    package var rateLimit: Int64?
    package var description: String?
    package var clientData: String?

    package init(
        priority: Double? = nil, rateLimit: Int64? = nil, description: String? = nil, clientData: String? = nil
    ) {
        self.priority = priority
        self.rateLimit = rateLimit
        self.description = description
        self.clientData = clientData
    }
}

/// The body of `POST /v1/tasks/{id}/retarget`. If the new URL has the same origin, values that are nil stay unchanged.
/// If it has another origin, secrets are not sent there.
package struct RetargetRequest: Hashable, Sendable, Codable {
    /// The new URL. If it is nil, a failed transfer starts again with its current URL.
    package var url: String?
    /// Header fields that replace all header fields of the transfer.
    package var headers: [HeaderField]?
    package var credential: Credential?
    /// The new destination of a download. Its directory can only change while no bytes have been received.
    package var destination: Destination?
    package var checksum: Checksum?
    /// URLs that replace all mirrors of a download.
    package var mirrors: [String]?
    package var connections: Int?
    /// The time in seconds without a received byte after which an exchange is aborted and retried.
    package var idleTimeout: Double?
    /// The new proxy; an empty value forbids proxies.
    package var proxy: String?
    /// The new client data that the library stores with the transfer.
    package var clientData: String?

    package init(
        url: String? = nil, headers: [HeaderField]? = nil, credential: Credential? = nil, clientData: String? = nil
    ) {
        self.url = url
        self.headers = headers
        self.credential = credential
        self.clientData = clientData
    }
}

/// The body of `POST /v1/tasks/{id}/cancel`.
package struct CancelRequest: Sendable, Codable {
    /// Whether to keep the downloaded bytes and return a token to resume from, if the server supports resuming.
    package var producingResumeData: Bool?

    package init(producingResumeData: Bool? = nil) {
        self.producingResumeData = producingResumeData
    }
}

/// The settings of the whole service. A rate limit of 0 means no limit.
package struct ServiceSettings: Hashable, Sendable, Codable {
    /// The maximum number of bytes per second for all transfers together.
    package var rateLimit: Int64?
    /// The maximum number of transfers that run at the same time.
    package var maximumTransfers: Int?
    /// Which transfers yield to other traffic.
    package var yield: YieldMode?

    package init(rateLimit: Int64? = nil, maximumTransfers: Int? = nil, yield: YieldMode? = nil) {
        self.rateLimit = rateLimit
        self.maximumTransfers = maximumTransfers
        self.yield = yield
    }
}

/// The response of `GET /v1/status`.
package struct ServiceStatus: Sendable, Codable {
    package var version: String
    package var processID: Int32
    package var startedAt: Date
    package var home: String
    package var networkAvailable: Bool
    package var settings: ServiceSettings
    /// The number of transfers in each state.
    package var tasks: [String: Int]
    package var bytesPerSecond: Double
    package var lastJournalEntry: Int64
    /// The hosts that currently receive no requests because of failures.
    package var pausedHosts: [PausedHost]
    /// The file systems that do not respond; nil if all respond.
    package var silentFileSystems: [SilentFileSystem]?
    /// The names of the service's environment variables that specify proxies. They apply to transfers without a proxy
    /// of their own. The value is nil if the service is older and does not send it.
    package var proxyVariables: [String]?

    package init(
        version: String, processID: Int32, startedAt: Date, home: String, networkAvailable: Bool,
        settings: ServiceSettings, tasks: [String: Int], bytesPerSecond: Double, lastJournalEntry: Int64,
        pausedHosts: [PausedHost]
    ) {
        self.version = version
        self.processID = processID
        self.startedAt = startedAt
        self.home = home
        self.networkAvailable = networkAvailable
        self.settings = settings
        self.tasks = tasks
        self.bytesPerSecond = bytesPerSecond
        self.lastJournalEntry = lastJournalEntry
        self.pausedHosts = pausedHosts
    }
}

/// A file system that does not respond: a call to it has been running for at least five seconds.
package struct SilentFileSystem: Hashable, Sendable, Codable {
    /// The path that was passed to the call that does not return.
    package var path: String
    package var since: Date

    package init(path: String, since: Date) {
        self.path = path
        self.since = since
    }
}

package struct PausedHost: Hashable, Sendable, Codable {
    /// The scheme, host and port, such as `https://example.org:443`.
    package var origin: String
    package var until: Date

    package init(origin: String, until: Date) {
        self.origin = origin
        self.until = until
    }
}

/// The response of `GET /v1/tasks/{id}/why`: the current state, its reason, and the decisions that led to it.
package struct Explanation: Sendable, Codable {
    package var task: TaskStatus
    /// The explanation as a sentence for display.
    package var sentence: String
    /// The time or event that will end the current state.
    package var endedBy: String?
    /// The latest decisions about the transfer, with the oldest first.
    package var history: [JournalEntry]

    package init(task: TaskStatus, sentence: String, endedBy: String?, history: [JournalEntry]) {
        self.task = task
        self.sentence = sentence
        self.endedBy = endedBy
        self.history = history
    }
}

/// Problem details as defined by RFC 9457, with the media type `application/problem+json`.
package struct Problem: Error, Hashable, Sendable, Codable {
    /// The kind of the problem as a stable relative reference, such as `/problems/not-found`.
    package var type: String
    package var title: String
    package var status: Int
    package var detail: String?
    /// The JSON pointer to the part of the request that caused the problem: `/tasks/3/url`.
    package var pointer: String?
    /// The failure code with which a transfer from this request would have ended.
    package var code: TransferFailure.Code?

    package init(
        type: String, title: String, status: Int, detail: String? = nil, pointer: String? = nil,
        code: TransferFailure.Code? = nil
    ) {
        self.type = type
        self.title = title
        self.status = status
        self.detail = detail
        self.pointer = pointer
        self.code = code
    }
}
