package import Foundation

/// `POST /v1/tasks`: up to ``Limits/tasksPerRequest`` tasks, all accepted or none.
package struct EnqueueRequest: Sendable, Codable {
    /// `terminal` unless given; the session is made with default settings where it does not exist.
    package var session: SessionID?
    /// The app for which this is done: `session` is then what it calls its session, and the end of the session's last task
    /// wakes it.
    package var app: AppID?
    package var tasks: [TaskRequest]

    package init(session: SessionID? = nil, app: AppID? = nil, tasks: [TaskRequest]) {
        self.session = session
        self.app = app
        self.tasks = tasks
    }
}

/// The ids of the accepted tasks, in the order of the request. They are on disk.
package struct EnqueueResponse: Sendable, Codable {
    package var ids: [TaskID]
    /// Those of ``ids`` that were there before (``TakenName/join``); nil where there are none.
    package var joined: [TaskID]?

    package init(ids: [TaskID], joined: [TaskID] = []) {
        self.ids = ids
        self.joined = joined.isEmpty ? nil : joined
    }
}

/// One page of tasks; `next` is the `after` of the following page.
package struct TaskPage: Sendable, Codable {
    package var tasks: [TaskStatus]
    /// Tasks in between of which nothing can be told but that they can be removed; nil where there are none.
    package var unreadable: [UnreadableTask]?
    package var next: TaskID?

    package init(tasks: [TaskStatus], unreadable: [UnreadableTask] = [], next: TaskID?) {
        self.tasks = tasks
        self.unreadable = unreadable.isEmpty ? nil : unreadable
        self.next = next
    }
}

/// A task whose row makes no sense.
package struct UnreadableTask: Hashable, Sendable, Codable {
    package var id: TaskID
    /// For a person: what is wrong with it.
    package var reason: String

    package init(id: TaskID, reason: String) {
        self.id = id
        self.reason = reason
    }
}

/// One page of the journal, oldest first.
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

/// `PATCH /v1/tasks/{id}`: only what is given changes. A rate limit of 0 is none.
package struct TaskChange: Sendable, Equatable, Codable {
    package var priority: Double?
    package var rateLimit: Int64?
    package var description: String?

    package init(priority: Double? = nil, rateLimit: Int64? = nil, description: String? = nil) {
        self.priority = priority
        self.rateLimit = rateLimit
        self.description = description
    }
}

/// `POST /v1/tasks/{id}/retarget`. A nil value stays if the new URL has the same origin; secrets go to no other origin.
package struct RetargetRequest: Sendable, Codable {
    /// Nil for the URL that the task has: a failed task starts again there.
    package var url: String?
    /// In place of all fields that the task has.
    package var headers: [HeaderField]?
    package var credential: Credential?
    /// The note that the task's library keeps with it from now on.
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

/// `POST /v1/tasks/{id}/cancel`.
package struct CancelRequest: Sendable, Codable {
    /// Keeps the bytes and answers with a token to continue from, where the server allows it.
    package var producingResumeData: Bool?

    package init(producingResumeData: Bool? = nil) {
        self.producingResumeData = producingResumeData
    }
}

/// Settings of the whole service. A rate limit of 0 is none.
package struct ServiceSettings: Hashable, Sendable, Codable {
    /// Bytes per second, all transfers together.
    package var rateLimit: Int64?
    /// Transfers that run at once.
    package var maximumTransfers: Int?

    package init(rateLimit: Int64? = nil, maximumTransfers: Int? = nil) {
        self.rateLimit = rateLimit
        self.maximumTransfers = maximumTransfers
    }
}

/// `GET /v1/status`.
package struct ServiceStatus: Sendable, Codable {
    package var version: String
    package var processID: Int32
    package var startedAt: Date
    package var home: String
    package var networkAvailable: Bool
    package var settings: ServiceSettings
    /// Tasks by state.
    package var tasks: [String: Int]
    package var bytesPerSecond: Double
    package var lastJournalEntry: Int64
    /// Hosts that are left alone for now.
    package var pausedHosts: [PausedHost]
    /// File systems that do not answer; nil where all do.
    package var silentFileSystems: [SilentFileSystem]?
    /// The variables of the service that name the proxies of tasks that say nothing of one. Nil from an older service.
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

/// A file system that does not answer: a call to it has been under way for at least five seconds.
package struct SilentFileSystem: Hashable, Sendable, Codable {
    /// The path of that call.
    package var path: String
    package var since: Date

    package init(path: String, since: Date) {
        self.path = path
        self.since = since
    }
}

package struct PausedHost: Hashable, Sendable, Codable {
    /// Scheme, host and port, as `https://example.org:443`.
    package var origin: String
    package var until: Date

    package init(origin: String, until: Date) {
        self.origin = origin
        self.until = until
    }
}

/// `GET /v1/tasks/{id}/why`: the present state with its reason, and how it came to be.
package struct Explanation: Sendable, Codable {
    package var task: TaskStatus
    /// The answer in a person's words.
    package var sentence: String
    /// What will change it: a time or an event.
    package var endedBy: String?
    /// The task's last decisions, oldest first.
    package var history: [JournalEntry]

    package init(task: TaskStatus, sentence: String, endedBy: String?, history: [JournalEntry]) {
        self.task = task
        self.sentence = sentence
        self.endedBy = endedBy
        self.history = history
    }
}

/// RFC 9457 problem details, `application/problem+json`.
package struct Problem: Error, Hashable, Sendable, Codable {
    /// A relative reference, stable: `/problems/not-found`.
    package var type: String
    package var title: String
    package var status: Int
    package var detail: String?
    /// Which part of the request is meant, as a JSON pointer: `/tasks/3/url`.
    package var pointer: String?
    /// The failure that a transfer would have had that was begun with this.
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
