package import Foundation

/// A task as the API shows it. Holds no secret.
package struct TaskStatus: Hashable, Sendable, Codable {
    package var id: TaskID
    package var session: SessionID
    /// Unique within the session, from 1 (URLSession's taskIdentifier).
    package var taskIdentifier: Int64
    package var kind: TaskKind
    package var method: String
    /// As it is requested: encoded, without user name and password.
    package var url: String
    /// Where redirects have led, if anywhere else.
    package var currentURL: String?
    package var state: TaskState
    /// Present exactly while ``state`` is waiting.
    package var wait: Wait?
    package var priority: Double
    package var rateLimit: Int64?
    package var description: String?
    package var createdAt: Date
    package var startedAt: Date?
    package var endedAt: Date?
    package var earliestBeginDate: Date?
    /// When the resource timeout ends the task, on the present wall clock.
    package var deadline: Date?
    package var countOfBytesReceived: Int64
    /// -1 while it is not known.
    package var countOfBytesExpectedToReceive: Int64
    package var countOfBytesSent: Int64
    package var countOfBytesExpectedToSend: Int64
    package var countOfBytesClientExpectsToSend: Int64?
    package var countOfBytesClientExpectsToReceive: Int64?
    /// Bytes per second over the last seconds; present while running.
    package var bytesPerSecond: Double?
    /// Connections that fetch it at present; present while a download is running.
    package var connections: Int?
    /// Exchanges begun, redirects not counted.
    package var attempts: Int
    /// How often bytes had to be thrown away: the remote file had changed or gave no means to continue, or the server had
    /// lost an upload.
    package var restarts: Int
    package var response: ResponseSummary?
    /// The last interim response (1xx) to the request under way.
    package var informationalResponse: ResponseSummary?
    /// What the server keeps of an upload that can be continued.
    package var upload: UploadStatus?
    /// The power and network that it needs; nil where it takes any.
    package var rules: TransferRules?
    package var source: String?
    package var destination: Destination?
    /// Where the finished file is.
    package var file: String?
    package var checksum: Checksum?
    /// Which digests were compared and right: the task's own, or the server's Repr-Digest and Content-Digest.
    package var verified: [String]
    /// The last error, also of a task that goes on.
    package var lastError: TransferFailure?
    /// Why it failed.
    package var error: TransferFailure?
    /// What a cancelled task continues from.
    package var resumeData: String?

    package init(
        id: TaskID, session: SessionID, taskIdentifier: Int64, kind: TaskKind, method: String, url: String,
        state: TaskState, priority: Double, createdAt: Date
    ) {
        self.id = id
        self.session = session
        self.taskIdentifier = taskIdentifier
        self.kind = kind
        self.method = method
        self.url = url
        self.state = state
        self.priority = priority
        self.createdAt = createdAt
        countOfBytesReceived = 0
        countOfBytesExpectedToReceive = -1
        countOfBytesSent = 0
        countOfBytesExpectedToSend = -1
        attempts = 0
        restarts = 0
        verified = []
    }
}

/// The final response's head.
package struct ResponseSummary: Hashable, Sendable, Codable {
    package var status: Int
    package var headers: [HeaderField]
    /// "1.0", "1.1", "2" or "3".
    package var httpVersion: String
    /// Cookies that redirects on the way have set; never shown.
    package var redirectCookies: [SetCookie]?
    /// How the file differs from what its name or the request lets expect.
    package var remark: ResponseRemark?

    package init(status: Int, headers: [HeaderField], httpVersion: String) {
        self.status = status
        self.headers = headers
        self.httpVersion = httpVersion
    }
}

/// How a file differs from what its name or the request lets expect.
package enum ResponseRemark: String, Hashable, Sendable, Codable, CaseIterable {
    /// A web page came where the name says that it is no page, and came again when it was asked for later.
    case page
    /// The body came in a coding that was not requested, and the file holds the coded bytes.
    case coded
    /// The body came in a coding that was not requested, and the file holds the decoded bytes.
    case decoded

    /// For a person.
    package var sentence: String {
        switch self {
        case .page: "The server sent a web page instead of a file of this name, and sent one again later."
        case .coded:
            "The server sent the file compressed, which was not requested. The file holds the compressed bytes; "
                + "Content-Encoding says how to unpack it."
        case .decoded: "The server sent the file compressed, which was not requested. It has been decompressed."
        }
    }
}

/// One `Set-Cookie` field with who has sent it: a secret.
package struct SetCookie: Hashable, Sendable, Codable {
    package var url: String
    package var value: String

    package init(url: String, value: String) {
        self.url = url
        self.value = value
    }
}

/// How far a running task is: sent often, kept nowhere.
package struct TaskProgress: Hashable, Sendable, Codable {
    package var id: TaskID
    package var countOfBytesReceived: Int64
    package var countOfBytesExpectedToReceive: Int64
    package var countOfBytesSent: Int64
    package var countOfBytesExpectedToSend: Int64
    package var bytesPerSecond: Double

    package init(
        id: TaskID, countOfBytesReceived: Int64, countOfBytesExpectedToReceive: Int64, countOfBytesSent: Int64,
        countOfBytesExpectedToSend: Int64, bytesPerSecond: Double
    ) {
        self.id = id
        self.countOfBytesReceived = countOfBytesReceived
        self.countOfBytesExpectedToReceive = countOfBytesExpectedToReceive
        self.countOfBytesSent = countOfBytesSent
        self.countOfBytesExpectedToSend = countOfBytesExpectedToSend
        self.bytesPerSecond = bytesPerSecond
    }
}
