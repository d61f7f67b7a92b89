package import Foundation

/// The status of a transfer as shown by the API. It contains no secrets.
package struct TaskStatus: Hashable, Sendable, Codable {
    package var id: TaskID
    package var session: SessionID
    /// The number of the transfer within its session, starting at 1 (URLSession's taskIdentifier).
    package var taskIdentifier: Int64
    package var kind: TaskKind
    package var method: String
    /// The URL as it is requested: encoded, without user name and password.
    package var url: String
    /// The URL after redirects, if it differs from ``url``.
    package var currentURL: String?
    package var state: TaskState
    /// The reason and time of the wait. It is present exactly while ``state`` is waiting.
    package var wait: Wait?
    package var priority: Double
    package var rateLimit: Int64?
    package var description: String?
    /// The data that the client stored with the transfer. It is not shown for transfers of apps.
    package var clientData: String?
    package var createdAt: Date
    package var startedAt: Date?
    package var endedAt: Date?
    package var earliestBeginDate: Date?
    /// The time at which the resource timeout ends the transfer, by the current wall clock.
    package var deadline: Date?
    package var countOfBytesReceived: Int64
    /// The expected number of bytes; -1 while it is unknown.
    package var countOfBytesExpectedToReceive: Int64
    package var countOfBytesSent: Int64
    package var countOfBytesExpectedToSend: Int64
    package var countOfBytesClientExpectsToSend: Int64?
    package var countOfBytesClientExpectsToReceive: Int64?
    /// The number of bytes per second over the last few seconds. It is present while the transfer is running.
    package var bytesPerSecond: Double?
    /// The number of connections in use. It is present while a download is running.
    package var connections: Int?
    /// How the transfer yields to other traffic; nil if it does not, or if it does not run.
    package var yielding: YieldStatus?
    /// The number of exchanges that have started, not counting redirects.
    package var attempts: Int
    /// The number of times that received bytes were discarded. The causes are that the remote file had changed, that
    /// the server did not support resuming, or that the server had lost an upload.
    package var restarts: Int
    package var response: ResponseSummary?
    /// The last interim response (1xx) to the current request.
    package var informationalResponse: ResponseSummary?
    /// The state of a resumable upload on the server.
    package var upload: UploadStatus?
    /// The requirements for power and network; nil if there are none.
    package var rules: TransferRules?
    package var source: String?
    package var destination: Destination?
    /// The path of the finished file.
    package var file: String?
    package var checksum: Checksum?
    /// The digests that matched: the requested checksum, or Repr-Digest and Content-Digest from the server.
    package var verified: [String]
    /// The last error. It is present even if the transfer continues.
    package var lastError: TransferFailure?
    /// The reason why the transfer failed.
    package var error: TransferFailure?
    /// The token from which a cancelled transfer can be continued.
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

/// The head of the final response.
package struct ResponseSummary: Hashable, Sendable, Codable {
    package var status: Int
    package var headers: [HeaderField]
    /// The HTTP version: "1.0", "1.1", "2" or "3".
    package var httpVersion: String
    /// Cookies that were set by redirects. They are never shown.
    package var redirectCookies: [SetCookie]?
    /// A remark if the file differs from the type that its name or the request suggests.
    package var remark: ResponseRemark?

    package init(status: Int, headers: [HeaderField], httpVersion: String) {
        self.status = status
        self.headers = headers
        self.httpVersion = httpVersion
    }
}

/// A difference between a file and the type that its name or the request suggests.
package enum ResponseRemark: String, Hashable, Sendable, Codable, CaseIterable {
    /// A web page that the server sent although the name suggests a different type. The server sent it again when the
    /// service asked again.
    case page
    /// A content coding that was not requested. The file contains the coded bytes.
    case coded
    /// A content coding that was not requested. The service has decoded the bytes in the file.
    case decoded

    /// The remark as a sentence for display.
    package var sentence: String {
        switch self {
        case .page: "The server sent a web page instead of a file of this name, and sent a page again later."
        case .coded:
            "The server sent the file compressed, which was not requested. The file contains the compressed bytes; "
                + "the Content-Encoding of the response names their format."
        case .decoded: "The server sent the file compressed, which was not requested. It has been decompressed."
        }
    }
}

/// A `Set-Cookie` field and the server that sent it. It is a secret.
package struct SetCookie: Hashable, Sendable, Codable {
    package var url: String
    package var value: String

    package init(url: String, value: String) {
        self.url = url
        self.value = value
    }
}

/// The progress of a running transfer. It is sent often and not stored.
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
