import Foundation
import NightshiftAPI
import Testing

/// A sample of one API type: a value with all properties set, and one with only the required ones.
struct Sample: Sendable, CustomTestStringConvertible {
    var name: String
    var full: Data
    var least: Data
    /// Whether clients send the type.
    var isRequest: Bool
    var decode: @Sendable (Data) throws -> Void
    /// Decodes and encodes a value.
    var rewrite: @Sendable (Data) throws -> Data

    var testDescription: String { name }

    init<Value: Codable & SendableMetatype>(_ full: Value, least: Value, isRequest: Bool = false) throws {
        try self.init(full, least: try JSON.encode(least), isRequest: isRequest)
    }

    /// - Parameter least: JSON of the smallest value, for types with default values.
    init<Value: Codable & SendableMetatype>(_ full: Value, least: Data, isRequest: Bool = false) throws {
        name = String(describing: Value.self)
        self.full = try JSON.encode(full)
        self.least = least
        self.isRequest = isRequest
        decode = { _ = try JSON.decode(Value.self, from: $0) }
        rewrite = { try JSON.encode(try JSON.decode(Value.self, from: $0)) }
    }

    static let all: [Sample] = {
        do {
            return try requests + answers + appRequests + appAnswers + processAnswers + deviceRequests + deviceAnswers
                + refreshRequests + refreshAnswers + locationRequests + locationAnswers + pushRequests + pushAnswers
        } catch {
            fatalError("The samples cannot be encoded: \(error)")
        }
    }()

    static let date = Date(timeIntervalSince1970: 1_800_000_000)
    private static let empty = Data("{}".utf8)
    private static let field = HeaderField(name: "X", value: "y")
    private static let tls = TLSSettings(
        certificateAuthority: "/a", clientCertificate: "/b", clientKey: "/c", minimumVersion: .tls12,
        maximumVersion: .tls13)
    private static let destination = Destination(
        directory: "/d", filename: "f", overwrite: true, ifTaken: .join, umask: "022")
    private static let formField = FormField(
        name: "n", value: "v", source: "/s", fileName: "f", contentType: "text/plain")
    private static let checksum = Checksum(algorithm: .md5, hex: String(repeating: "0", count: 32))

    private static var task: TaskRequest {
        var task = TaskRequest(kind: .upload, url: "https://example.org/")
        task.method = "PUT"
        task.body = Data("b".utf8)
        task.headers = [field]
        task.credential = Credential(user: "a", password: "b", scheme: .digest)
        task.source = "/s"
        task.form = [formField]
        task.resumption = .draft
        task.snapshot = .copy
        task.handlesCookies = true
        task.destination = destination
        task.checksum = checksum
        task.mirrors = ["https://mirror.example/"]
        task.connections = 1
        task.priority = 1
        task.rateLimit = 1
        task.earliestBeginDate = date
        task.idleTimeout = 1
        task.resourceTimeout = 1
        task.countOfBytesClientExpectsToSend = 1
        task.countOfBytesClientExpectsToReceive = 1
        task.description = "d"
        task.clientData = "c"
        task.retryPolicy = .never
        task.failsOnHTTPError = true
        task.proxy = ""
        task.proxyVariable = "no_proxy"
        task.tls = tls
        task.isDiscretionary = true
        task.yields = true
        task.allowsCellularAccess = false
        task.allowsExpensiveNetworkAccess = false
        task.allowsConstrainedNetworkAccess = false
        task.requiresExternalPower = true
        task.minimumBattery = 30
        task.suspended = true
        task.resumeData = "r"
        task.ifSame = .join
        return task
    }

    private static var requests: [Sample] {
        get throws {
            var session = SessionSettings()
            session.headers = [field]
            session.proxy = ""
            session.tls = tls
            session.yields = true
            var retarget = RetargetRequest(
                url: "http://a/", headers: [field], credential: Credential(user: "a", password: "b"), clientData: "c")
            retarget.destination = Destination(directory: "/d")
            retarget.checksum = checksum
            retarget.mirrors = ["https://mirror.example/"]
            retarget.connections = 2
            retarget.idleTimeout = 1
            retarget.proxy = ""
            return [
                try Sample(
                    EnqueueRequest(session: .terminal, app: AppID(rawValue: "org.example.App"), tasks: [task]),
                    least: EnqueueRequest(tasks: []), isRequest: true
                ),
                try Sample(task, least: empty, isRequest: true),
                try Sample(
                    TaskChange(priority: 1, rateLimit: 1, description: "d", clientData: "c"), least: TaskChange(),
                    isRequest: true),
                try Sample(retarget, least: RetargetRequest(), isRequest: true),
                try Sample(
                    TaskActionRequest(
                        .cancel, [TaskID(1)], producingResumeData: true,
                        change: TaskChange(priority: 1, rateLimit: 1, description: "d", clientData: "c")),
                    least: TaskActionRequest(.remove, []), isRequest: true),
                try Sample(RetryRequest(tasks: [TaskID(1)]), least: RetryRequest(), isRequest: true),
                try Sample(CancelRequest(producingResumeData: true), least: CancelRequest(), isRequest: true),
                try Sample(
                    ServiceSettings(rateLimit: 1, maximumTransfers: 1, yield: .on), least: ServiceSettings(),
                    isRequest: true),
                try Sample(session, least: empty, isRequest: true),
                try Sample(field, least: field, isRequest: true),
                try Sample(
                    Credential(user: "a", password: "b", scheme: .any), least: Credential(user: "a", password: "b"),
                    isRequest: true),
                try Sample(destination, least: Destination(directory: "/d"), isRequest: true),
                try Sample(checksum, least: checksum, isRequest: true),
                try Sample(tls, least: TLSSettings(), isRequest: true),
                try Sample(formField, least: FormField(name: "n"), isRequest: true),
            ]
        }
    }

    private static let wait = Wait(
        reason: .retry, since: date, until: date, detail: "d", count: 2, failure: failure)
    private static let failure = TransferFailure(.truncated, "m", status: 200)
    private static let entry = JournalEntry(
        id: 1, time: date, decision: .held, task: TaskID(1), app: AppID(rawValue: "a"), wait: wait, error: failure,
        detail: "d", inputs: ["battery": "30"])
    private static let leastResponse = ResponseSummary(status: 200, headers: [field], httpVersion: "2")
    private static var response: ResponseSummary {
        var response = leastResponse
        response.remark = .coded
        return response
    }
    static let leastStatus = TaskStatus(
        id: TaskID(1), session: .terminal, taskIdentifier: 1, kind: .download, method: "GET", url: "https://a/",
        state: .running, priority: 0.5, createdAt: date)

    private static let upload = UploadStatus(
        resumption: .draft, interopVersion: 6, countOfBytesAcknowledged: 1, expiresAt: date)

    private static var status: TaskStatus {
        var status = leastStatus
        status.currentURL = "https://b/"
        status.state = .waiting
        status.wait = wait
        status.rateLimit = 1
        status.description = "d"
        status.clientData = "c"
        status.startedAt = date
        status.endedAt = date
        status.earliestBeginDate = date
        status.deadline = date
        status.countOfBytesClientExpectsToSend = 1
        status.countOfBytesClientExpectsToReceive = 1
        status.bytesPerSecond = 1
        status.connections = 1
        status.yielding = YieldStatus(
            bytesPerSecond: 1, capacity: 2, roundTrip: 0.1, target: 0.05, isYielding: true)
        status.response = response
        status.informationalResponse = response
        status.upload = upload
        status.rules = TransferRules()
        status.source = "/s"
        status.destination = destination
        status.file = "/f"
        status.checksum = checksum
        status.verified = ["sha-256"]
        status.lastError = failure
        status.error = failure
        status.resumeData = "r"
        return status
    }

    private static var answers: [Sample] {
        get throws {
            let leastSession = SessionStatus(id: .terminal, settings: SessionSettings(), activeTasks: 1, tasks: 2)
            var session = leastSession
            session.app = AppID(rawValue: "a")
            session.name = "s"
            session.unreadable = "r"
            let leastService = ServiceStatus(
                version: "1", processID: 1, startedAt: date, home: "/", networkAvailable: true,
                settings: ServiceSettings(), tasks: ["running": 1], bytesPerSecond: 1, lastJournalEntry: 1,
                pausedHosts: [PausedHost(origin: "https://a:443", until: date)])
            let silent = SilentFileSystem(path: "/mnt", since: date)
            var service = leastService
            service.silentFileSystems = [silent]
            service.proxyVariables = ["https_proxy"]
            let progress = TaskProgress(
                id: TaskID(1), countOfBytesReceived: 1, countOfBytesExpectedToReceive: 1, countOfBytesSent: 1,
                countOfBytesExpectedToSend: 1, bytesPerSecond: 1)
            let problem = Problem(
                type: "/problems/x", title: "t", status: 400, detail: "d", pointer: "/p", code: .badURL)
            return [
                try Sample(EnqueueResponse(ids: [TaskID(1)], joined: [TaskID(1)]), least: EnqueueResponse(ids: [])),
                try Sample(
                    TaskActionAnswer(results: [TaskActionResult(id: TaskID(1))]), least: TaskActionAnswer(results: [])),
                try Sample(
                    TaskActionResult(id: TaskID(1), task: status, problem: problem),
                    least: TaskActionResult(id: TaskID(1))),
                try Sample(
                    TaskPage(
                        tasks: [status], unreadable: [UnreadableTask(id: TaskID(2), reason: "no JSON")], next: TaskID(1)
                    ),
                    least: TaskPage(tasks: [], next: nil)),
                try Sample(JournalPage(entries: [entry], next: 1), least: JournalPage(entries: [], next: nil)),
                try Sample(SessionList(sessions: [session]), least: SessionList(sessions: [])),
                try Sample(session, least: leastSession),
                try Sample(service, least: leastService),
                try Sample(silent, least: silent),
                try Sample(service.pausedHosts[0], least: service.pausedHosts[0]),
                try Sample(
                    Explanation(task: status, sentence: "s", endedBy: "e", history: [entry]),
                    least: Explanation(task: leastStatus, sentence: "s", endedBy: nil, history: [])),
                try Sample(
                    RetryResponse(count: 1, refused: [RefusedTask(id: TaskID(1), problem: problem)]),
                    least: RetryResponse(count: 0)),
                try Sample(
                    RefusedTask(id: TaskID(1), problem: problem), least: RefusedTask(id: TaskID(1), problem: problem)),
                try Sample(problem, least: Problem(type: "/problems/x", title: "t", status: 400)),
                try Sample(status, least: leastStatus),
                try Sample(response, least: leastResponse),
                try Sample(upload, least: UploadStatus(resumption: .tus, countOfBytesAcknowledged: 1)),
                try Sample(progress, least: progress),
                try Sample(failure, least: TransferFailure(.truncated, "m")),
                try Sample(wait, least: Wait(reason: .retry, since: date)),
                try Sample(entry, least: JournalEntry(id: 1, time: date, decision: .started)),
                try Sample(StreamReset(lastEntry: 1), least: StreamReset(lastEntry: 1)),
            ]
        }
    }
}
