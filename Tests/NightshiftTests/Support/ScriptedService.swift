import Foundation
import NightshiftAPI
import Synchronization
import TestSupport

/// A service that a test controls. It has sessions, tasks and messages in memory, real files and a real socket. As the
/// API requires, it refuses requests without a channel, numbers messages, keeps them until they are acknowledged, and
/// sends them again on every new stream. The test decides the outcome of each transfer.
final class ScriptedService: Sendable {
    let home: String
    let state = Watched(State())
    /// A name that distinguishes the tokens of this service from those of others, because resume data names a file
    /// after its token in a shared directory.
    private let name = UUID().uuidString
    private let server = Mutex<SocketServer?>(nil)

    struct State: Sendable {
        var hello = ProcessHello(
            app: AppID(rawValue: "/app"), isInstalled: false, isManaged: false, state: .active)
        var nextTaskIdentifier: Int64 = 1
        var tasks: [TaskID: SessionTask] = [:]
        var requests: [Int64: SessionTaskRequest] = [:]
        /// The tasks that were handed over, including repetitions.
        var handedOver: [SessionTaskRequest] = []
        /// The numbers of the tasks that were handed over.
        var order: [Int64] { handedOver.map(\.taskIdentifier) }
        /// The sizes in bytes of the uploads' files, read in the same way as by the service.
        var sources: [Int64: Int64] = [:]
        var settings: [String: SessionSettings] = [:]
        var messages: [SessionMessage] = []
        var lastID: Int64 = 0
        /// The received requests, in the form `POST /v1/tasks/1/suspend`.
        var log: [String] = []
        /// The executed requests, in the order of execution.
        var done: [String] = []
        /// The number of requests that are being answered, by their form in the log.
        var open: [String: Int] = [:]
        /// Gates that hold received requests back, by their form in the log.
        var gates: [String: Gate] = [:]
        /// A gate that holds back the greeting on a channel.
        var helloGate: Gate?
        var acknowledged: [Int64] = []
        var answers: [MessageAnswer] = []
        var changes: [TaskChange] = []
        var retargets: [RetargetRequest] = []
        var acknowledgedCommands: [Int64] = []
        /// The results of the commands that were acknowledged with a result.
        var results: [Int64: RefreshResult] = [:]
        var refresh = RefreshState()
        var push = PushState()
        var location = LocationState()
        var states: [AppState] = []
        var snapshot: Data?
        /// The open background tasks.
        var backgroundTasks: [Int64: String] = [:]
        var backgroundTasksBegun: [BackgroundTaskRequest] = []
        var channels: [SocketServer.Stream] = []
        var streams: [SocketServer.Stream] = []
        /// The progress that has no receiver yet, because a stream may be opened shortly after its session's first
        /// task.
        var early: [String] = []
        /// The sessions that belong to another process.
        var taken: Set<String> = []
        /// The number of requests that are executed without a response, by their form in the log.
        var unanswered: [String: Int] = [:]
        /// Refusals, by the form of the request in the log.
        var refusals: [String: Problem] = [:]
    }

    init(home: String) throws {
        self.home = home
        for folder in ["run", "state/files"] {
            try FileManager.default.createDirectory(
                atPath: "\(home)/\(folder)", withIntermediateDirectories: true)
        }
        try start()
    }

    deinit {
        stop()
        // These are the files that the library keeps for the app while resume data is not used.
        for token in state.read({ $0.tasks.values.compactMap(\.task.resumeData) }) {
            try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "CFNetworkDownload_\(token).tmp")
        }
    }

    func start() throws {
        let new = try SocketServer(path: "\(home)/run/nightshift.sock") { [weak self] request in
            self?.answer(request) ?? .hangUp
        }
        server.withLock { $0 = new }
    }

    /// Stops the service as in a crash: the socket and all connections are closed, and files remain.
    func stop() {
        server.withLock { server in
            server?.stop()
            server = nil
        }
        breakStreams()
    }

    /// Returns the token in the resume data of a cancelled task.
    func token(_ id: Int64) -> String { "token-\(id)-\(name)" }

    func breakStreams() {
        let streams = state.update { state in
            defer { (state.channels, state.streams) = ([], []) }
            return state.channels + state.streams
        }
        for stream in streams { stream.close() }
    }

    // MARK: - Events that the test causes

    @discardableResult
    func push(_ kind: SessionMessage.Kind, _ identifier: Int64, challenge: Challenge? = nil) -> Int64 {
        state.update { state in
            guard let task = state.tasks.values.first(where: { $0.task.taskIdentifier == identifier }) else { return 0 }
            state.lastID += 1
            let message = SessionMessage(id: state.lastID, kind: kind, task: task, challenge: challenge)
            state.messages.append(message)
            for stream in state.streams { stream.send(Self.frame("message", id: message.id, message)) }
            return message.id
        }
    }

    /// Ends a task. Its file is in the service's own directory.
    @discardableResult
    func end(
        _ identifier: Int64, _ newState: TaskState = .completed, status: Int = 200, content: String? = "content",
        error: TransferFailure? = nil, resumeData: String? = nil
    ) throws -> Int64 {
        var file: String?
        if newState == .completed, let content {
            let path = "\(home)/state/files/\(identifier)"
            try Data(content.utf8).write(to: URL(filePath: path))
            file = path
        }
        change(identifier) { task in
            task.task.state = newState
            task.task.endedAt = Date(timeIntervalSince1970: 1_800_000_000)
            task.task.file = file
            task.task.error = error
            task.task.resumeData = resumeData
            if newState == .completed {
                let headers = [HeaderField(name: "ETag", value: "\"v1\"")]
                task.task.response = ResponseSummary(status: status, headers: headers, httpVersion: "1.1")
                let size = Int64(content?.utf8.count ?? 0)
                if task.task.kind == .download {
                    task.task.countOfBytesReceived = size
                    task.task.countOfBytesExpectedToReceive = size
                }
            }
        }
        return push(.ended, identifier)
    }

    func change(_ identifier: Int64, _ body: (inout SessionTask) -> Void) {
        state.update { state in
            guard let id = state.tasks.first(where: { $0.value.task.taskIdentifier == identifier })?.key else { return }
            guard var task = state.tasks[id] else { return }
            body(&task)
            state.tasks[id] = task
        }
    }

    func progress(
        _ identifier: Int64, received: Int64 = 0, of expected: Int64 = -1, sent: Int64 = 0, ofSent: Int64 = -1
    ) {
        state.update { state in
            guard let id = state.tasks.first(where: { $0.value.task.taskIdentifier == identifier })?.key else { return }
            let progress = TaskProgress(
                id: id, countOfBytesReceived: received, countOfBytesExpectedToReceive: expected, countOfBytesSent: sent,
                countOfBytesExpectedToSend: ofSent, bytesPerSecond: 1)
            let frame = Self.frame("progress", id: nil, progress)
            if state.streams.isEmpty { state.early.append(frame) }
            for stream in state.streams { stream.send(frame) }
        }
    }

    func command(_ command: ProcessCommand) {
        state.update { state in
            for channel in state.channels { channel.send(Self.frame("command", id: command.number, command)) }
        }
    }

    static func frame(_ event: String, id: Int64?, _ value: some Encodable) -> String {
        guard let data = try? JSON.encode(value) else { return "" }
        return "event: \(event)\n" + (id.map { "id: \($0)\n" } ?? "")
            + "data: \(String(decoding: data, as: UTF8.self))\n\n"
    }

    // MARK: - Responses

    private func answer(_ request: SocketServer.Request) -> SocketServer.Reply {
        let line = "\(request.method) \(request.path)"
        let (refusal, isUnanswered) = state.update { state -> (Problem?, Bool) in
            state.log.append(line)
            state.open[line, default: 0] += 1
            if let count = state.unanswered[line], count > 0 {
                state.unanswered[line] = count - 1
                return (state.refusals[line], true)
            }
            return (state.refusals[line], false)
        }
        defer { state.update { $0.open[line, default: 0] -= 1 } }
        let gate = state.read { $0.gates[line] }
        if let gate, !gate.block(until: .now + .seconds(60)) { return .hangUp }
        if let refusal { return Self.refuse(refusal) }
        do {
            let reply = try route(request)
            return isUnanswered ? .hangUp : reply
        } catch let problem as Problem {
            return Self.refuse(problem)
        } catch {
            return Self.refuse(.badRequest("\(error)"))
        }
    }

    private static func refuse(_ problem: Problem) -> SocketServer.Reply {
        .json(problem.status, (try? JSON.encode(problem)) ?? Data())
    }

    private func route(_ request: SocketServer.Request) throws -> SocketServer.Reply {
        let parts = request.path.split(separator: "/").map { $0.removingPercentEncoding ?? "" }
        if parts.starts(with: ["v1", "process", "commands"]) {
            return .stream { [self] stream in
                if let gate = state.read(\.helloGate), !gate.block(until: .now + .seconds(60)) { return stream.close() }
                state.update { state in
                    state.channels.append(stream)
                    state.hello.channel = UUID().uuidString
                    stream.send(Self.frame("hello", id: nil, state.hello))
                    if let availability = state.refresh.availability {
                        stream.send(Self.frame("refresh", id: nil, RefreshNotice(availability: availability)))
                    }
                    if let notice = state.push.notice { stream.send(Self.frame("push", id: nil, notice)) }
                    if state.location.hasAsked {
                        let notice = LocationNotice(permission: state.location.known.permission)
                        stream.send(Self.frame("location", id: nil, notice))
                    }
                }
            }
        }
        let isConnected = state.update { state in
            let channel = request.fields[ProcessHello.channelField.lowercased()]
            guard !state.channels.isEmpty, channel == nil || channel == state.hello.channel else { return false }
            state.done.append("\(request.method) \(request.path)")
            return true
        }
        guard isConnected else { throw Problem.notConnected("Connect first.") }
        if parts.starts(with: ["v1", "process", "sessions"]), parts.count >= 4 {
            return try session(parts[3], parts.dropFirst(4).first, request)
        }
        if parts.starts(with: ["v1", "tasks"]), parts.count >= 3, let id = Int64(parts[2]) {
            return try task(TaskID(id), parts.dropFirst(3).first, request)
        }
        if parts.starts(with: ["v1", "process", "background-tasks"]) { return try backgroundTask(parts.last, request) }
        if let reply = try refresh(parts, request) ?? location(parts, request) ?? push(parts, request) { return reply }
        switch parts.last {
        case "acknowledge":
            let acknowledgement = try JSON.decode(CommandAcknowledgement.self, from: request.body)
            state.update { state in
                state.acknowledgedCommands.append(acknowledgement.command)
                state.results[acknowledgement.command] = acknowledgement.result
                state.push.presentations[acknowledgement.command] = acknowledgement.presentation
            }
        case "state":
            let new = try JSON.decode(ProcessStateChange.self, from: request.body).state
            state.update { $0.states.append(new) }
        case "snapshot": state.update { $0.snapshot = request.body }
        default: throw Problem.notFound(request.path)
        }
        return .json(200, Data("{}".utf8))
    }

    private func backgroundTask(_ last: String?, _ request: SocketServer.Request) throws -> SocketServer.Reply {
        if request.method == "POST" {
            let task = try JSON.decode(BackgroundTaskRequest.self, from: request.body)
            state.update { state in
                state.backgroundTasks[task.number] = task.name
                state.backgroundTasksBegun.append(task)
            }
        } else {
            guard request.method == "DELETE", let number = last.flatMap({ Int64($0) }) else {
                throw Problem.notFound(request.path)
            }
            state.update { $0.backgroundTasks[number] = nil }
        }
        return .json(204, Data())
    }

    private func session(_ name: String, _ action: String?, _ request: SocketServer.Request) throws
        -> SocketServer.Reply
    {
        guard request.method == "PUT" || state.read({ $0.settings[name] != nil }) else {
            throw Problem.noSession(SessionID(rawValue: "/app:\(name)"))
        }
        switch (request.method, action) {
        case ("PUT", nil):
            let settings = try JSON.decode(SessionSettings.self, from: request.body)
            let next = try state.update { state in
                Result {
                    guard !state.taken.contains(name) else {
                        throw Problem(type: "/problems/session-in-use", title: "In use", status: 409)
                    }
                    state.settings[name] = settings
                    return state.nextTaskIdentifier
                }
            }.get()
            return try Self.json(
                SessionAttachment(session: SessionID(rawValue: "/app:\(name)"), nextTaskIdentifier: next))
        case ("GET", "tasks"):
            let tasks = state.read { state in
                state.tasks.values.filter { !$0.task.state.isTerminal }.sorted { $0.task.id < $1.task.id }
            }
            return try Self.json(SessionTaskPage(tasks: tasks, next: nil))
        case ("POST", "tasks"):
            let tasks = try JSON.decode(SessionEnqueueRequest.self, from: request.body).tasks
            return try Self.json(EnqueueResponse(ids: tasks.map { add($0, to: name) }))
        case ("GET", "messages"):
            return .stream { [self] stream in
                state.update { state in
                    state.streams.append(stream)
                    for message in state.messages { stream.send(Self.frame("message", id: message.id, message)) }
                    stream.send(Self.frame("caughtUp", id: nil, CaughtUp(through: state.lastID)))
                    for frame in state.early { stream.send(frame) }
                    state.early = []
                }
            }
        case ("POST", "acknowledge"):
            let ids = try JSON.decode(MessageAcknowledgement.self, from: request.body).messages
            state.update { state in
                state.acknowledged += ids
                for message in state.messages where ids.contains(message.id) {
                    if let file = message.task.task.file { try? FileManager.default.removeItem(atPath: file) }
                }
                state.messages.removeAll { ids.contains($0.id) }
            }
        case ("POST", "answers"):
            let answer = try JSON.decode(MessageAnswer.self, from: request.body)
            guard answer.request?.url?.hasPrefix("ftp:") != true else { throw Problem.invalid("Not over FTP.") }
            state.update { state in
                state.answers.append(answer)
                state.messages.removeAll { $0.id == answer.message }
            }
        default: throw Problem.notFound(request.path)
        }
        return .json(200, Data("{}".utf8))
    }

    private func add(_ request: SessionTaskRequest, to session: String) -> TaskID {
        state.update { state in
            state.requests[request.taskIdentifier] = request
            state.handedOver.append(request)
            if let descriptor = request.sourceDescriptor {
                let path = "/proc/self/fd/\(descriptor)"
                state.sources[request.taskIdentifier] = (try? Data(contentsOf: URL(filePath: path))).map {
                    Int64($0.count)
                }
            }
            if let known = state.tasks.values.first(where: { $0.task.taskIdentifier == request.taskIdentifier }) {
                return known.task.id
            }
            let id = TaskID(Int64(100 + state.tasks.count))
            var status = TaskStatus(
                id: id, session: SessionID(rawValue: "/app:\(session)"), taskIdentifier: request.taskIdentifier,
                kind: request.request.kind, method: request.request.method ?? "GET",
                url: request.request.url ?? "http://example.org/resumed",
                state: request.request.suspended == true ? .suspended : .waiting,
                priority: request.request.priority ?? 0.5, createdAt: Date(timeIntervalSince1970: 1_800_000_000))
            if status.state == .waiting { status.wait = Wait(reason: .starting, since: status.createdAt) }
            status.description = request.request.description
            status.source = request.request.source
            status.earliestBeginDate = request.request.earliestBeginDate
            state.tasks[id] = SessionTask(task: status, clientData: request.clientData, resumedAt: nil)
            state.nextTaskIdentifier = max(state.nextTaskIdentifier, request.taskIdentifier + 1)
            return id
        }
    }

    private func task(_ id: TaskID, _ action: String?, _ request: SocketServer.Request) throws -> SocketServer.Reply {
        guard let identifier = state.read({ $0.tasks[id]?.task.taskIdentifier }) else { throw Problem.notFound("task") }
        switch action {
        case "suspend": change(identifier) { $0.task.state = .suspended }
        case "resume": change(identifier) { $0.task.state = .waiting }
        case "cancel":
            let wish = try JSON.decode(CancelRequest.self, from: request.body)
            try end(identifier, .cancelled, resumeData: wish.producingResumeData == true ? token(id.rawValue) : nil)
        case "retarget":
            let wish = try JSON.decode(RetargetRequest.self, from: request.body)
            state.update { $0.retargets.append(wish) }
        case nil where request.method == "GET": break
        case nil where request.method == "PATCH":
            let change = try JSON.decode(TaskChange.self, from: request.body)
            state.update { $0.changes.append(change) }
        default: throw Problem.notFound(request.path)
        }
        guard let status = state.read({ $0.tasks[id]?.task }) else { throw Problem.notFound("task") }
        return try Self.json(status)
    }

    static func json(_ value: some Encodable) throws -> SocketServer.Reply {
        .json(200, try JSON.encode(value))
    }
}
