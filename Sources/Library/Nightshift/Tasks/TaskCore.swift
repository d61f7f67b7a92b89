import Foundation
import FoundationNetworking
import NightshiftAPI
import Synchronization

/// The common state of background downloads and uploads, as the app sees the task.
///
/// It can be used on any thread. The task's session sends the requests to the service.
final class TaskCore: Sendable {
    let session: SessionCore
    let kind: TaskKind
    let identifier: Int
    /// The file to upload.
    let source: URL?
    let progress = Progress(totalUnitCount: -1)
    /// A lock for requests about this task. It is held while the service copies the file of an upload.
    let turn = Turn()
    let state: Mutex<State>

    struct State {
        var handover = TaskHandover()
        var originalRequest: URLRequest?
        var currentURL: URL?
        var response: URLResponse?
        var error: (any Error)?
        var received: Int64 = 0
        var expectedToReceive: Int64 = 0
        var sent: Int64 = 0
        var expectedToSend: Int64 = 0
        var clientExpectsToSend: Int64 = NSURLSessionTransferSizeUnknown
        var clientExpectsToReceive: Int64 = NSURLSessionTransferSizeUnknown
        var priority: Float = URLSessionTask.defaultPriority
        var description: String?
        var earliestBeginDate: Date?
        /// The descriptor of the file to upload. It is open from the first resumption until the service has a copy of
        /// the file.
        var descriptor: Int32?
        /// The token of the resume data from which the transfer continues.
        var token: String?
        /// The resume data that contained ``token``. It is kept until the service has the task. If the task is
        /// cancelled before that, the app gets this data again.
        var resumeData: ResumeData?
        var note: String?
        /// The number of bytes reported to the delegate. Nil for a download from resume data until its offset is known.
        var reported: Int64? = 0
    }

    /// Makes a task for a request of the app.
    init(_ session: SessionCore, kind: TaskKind, identifier: Int, request: URLRequest?, source: URL? = nil) {
        self.session = session
        self.kind = kind
        self.identifier = identifier
        self.source = source
        var state = State()
        state.originalRequest = request
        state.note = request.flatMap { RequestNote($0)?.text }
        if let size = source.flatMap({ try? $0.resourceValues(forKeys: [.fileSizeKey]).fileSize }) {
            state.expectedToSend = Int64(size)
        }
        self.state = Mutex(state)
        progress.control(self, cancel: { $0.cancel() }, follow: { $0.followProgress() })
    }

    /// Makes the object of a task that the service already has.
    init(_ session: SessionCore, _ task: SessionTask) {
        self.session = session
        kind = task.task.kind
        identifier = Int(task.task.taskIdentifier)
        source = task.task.source.map { URL(filePath: $0) }
        var state = State()
        state.originalRequest = URLRequest(task)
        state.note = task.clientData
        state.handover = TaskHandover(task.task.id, isHeld: task.task.state == .suspended)
        // The delegate gets no progress for bytes from before this process.
        state.reported = task.task.kind == .download ? task.task.countOfBytesReceived : task.task.countOfBytesSent
        self.state = Mutex(state)
        apply(task)
        progress.control(self, cancel: { $0.cancel() }, follow: { $0.followProgress() })
    }

    deinit {
        closeSource()
    }

    private func followProgress() {
        apply(state.withLock { $0.handover.control.follow(isPaused: progress.isPaused) })
    }

    // MARK: - Calls by the app

    var visibleState: URLSessionTask.State { state.withLock(\.handover.control.visibleState) }

    /// Resumes the task. The method returns when the service has stored the task on disk or cannot be reached. If the
    /// service cannot be reached, the task is sent as soon as possible.
    func resume() { apply(state.withLock { $0.handover.control.resume() }) }

    func suspend() { apply(state.withLock { $0.handover.control.suspend() }) }

    private func apply(_ change: TaskControl.Change) {
        switch change {
        case .none: break
        case .suspended: session.bringUpToDateLater(self)
        case .resumed:
            session.connection.wake()
            if openSource() {
                session.handOverUpload(self)
            } else {
                session.bringUpToDate(self, timeout: SessionCore.resumeTimeout)
            }
        }
    }

    func cancel() {
        guard beginCancelling() else { return }
        session.cancel(self, producingResumeData: false) { _ in }
    }

    func cancel(byProducingResumeData completion: @escaping @Sendable (Data?) -> Void) {
        guard beginCancelling() else {
            session.onDelegateQueue { completion(nil) }
            return
        }
        session.cancel(self, producingResumeData: true, completion)
    }

    private func beginCancelling() -> Bool { state.withLock { $0.handover.control.cancel() } }

    /// Makes a change that the service must receive too. The change is sent with the task itself, or separately if the
    /// service may already have the task.
    func change(_ change: TaskChange, _ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.handover.change(change)
        }
        session.tellChanges(of: self)
    }

    /// Changes the app's description of the task.
    func describe(_ description: String?) {
        let size = description?.utf8.count ?? 0
        guard size > Limits.descriptionLength else {
            return change(TaskChange(description: description ?? "")) { $0.description = description }
        }
        let isKnown = state.withLock { state in
            state.description = description
            return state.handover.copy != .absent
        }
        guard isKnown else { return }
        Notice.print(
            "The description of task \(identifier) has \(size) bytes, and only \(Limits.descriptionLength) bytes can be stored. The next "
                + "process of the app gets the previous description. Store the text elsewhere, and use a key as the description."
        )
    }

    /// Replaces the request. The service stores `note`, from which the app's next process reads the request.
    func replaceRequest(by request: URLRequest, note: String?) {
        state.withLock { state in
            state.originalRequest = request
            state.currentURL = nil
            state.note = note
        }
    }

    // MARK: - Information from the service

    /// Applies the service's description of the task.
    func apply(_ task: SessionTask) {
        let status = task.task
        state.withLock { state in
            state.handover.learn(status.id)
            state.currentURL = status.currentURL.flatMap { URL(string: $0) }
            // The app's own changes are newer than the service's values until the service has received the changes.
            if state.handover.unsent?.priority == nil { state.priority = Float(status.priority) }
            if state.handover.unsent?.description == nil { state.description = status.description ?? state.description }
            state.earliestBeginDate = status.earliestBeginDate ?? state.earliestBeginDate
            state.clientExpectsToSend = status.countOfBytesClientExpectsToSend ?? state.clientExpectsToSend
            state.clientExpectsToReceive = status.countOfBytesClientExpectsToReceive ?? state.clientExpectsToReceive
            if let summary = status.response, let url = state.currentURL ?? state.originalRequest?.url {
                state.response = BackgroundURLResponse(summary, url: url)
            }
        }
        discardResumeData()
        count(
            received: status.countOfBytesReceived, expectedToReceive: status.countOfBytesExpectedToReceive,
            sent: status.countOfBytesSent, expectedToSend: status.countOfBytesExpectedToSend)
    }

    func count(received: Int64, expectedToReceive: Int64, sent: Int64, expectedToSend: Int64) {
        let (done, total) = state.withLock { state in
            state.received = received
            state.expectedToReceive = expectedToReceive
            state.sent = sent
            if expectedToSend >= 0 { state.expectedToSend = expectedToSend }
            return kind == .download ? (received, expectedToReceive) : (sent, state.expectedToSend)
        }
        progress.show(done, of: total)
    }

    /// Sets the resume data from which the transfer is to continue. For a download, progress is not reported before the
    /// offset is known, because progress can arrive before the message with the offset.
    func goOn(from resumeData: ResumeData?) {
        state.withLock { state in
            state.resumeData = resumeData
            state.token = resumeData?.token
            if kind == .download && resumeData != nil { state.reported = nil }
        }
    }

    /// Discards the resume data, because the service has the task or cannot use the data. Resume data cannot be used a
    /// second time.
    func discardResumeData() {
        let used = state.withLock { state in
            defer { state.resumeData = nil }
            return state.resumeData
        }
        used?.discardStandIn()
    }

    /// Returns the number of new bytes and the totals, and records these bytes as reported to the delegate. Returns nil
    /// if there are no new bytes.
    func takeProgress() -> (bytes: Int64, total: Int64, expected: Int64)? {
        state.withLock { state in
            guard let reported = state.reported else { return nil }
            let total = kind == .download ? state.received : state.sent
            let expected = kind == .download ? state.expectedToReceive : state.expectedToSend
            // The total can be lower than before if the file had changed and the transfer restarted. Progress is then
            // counted from the lower number.
            defer { state.reported = total }
            return total > reported ? (total - reported, total, expected) : nil
        }
    }

    /// Records that the task has ended. The state of the task does not change afterwards.
    func end(error: (any Error)?) {
        state.withLock { state in
            _ = state.handover.control.end()
            state.error = error
        }
        if error == nil {
            if progress.totalUnitCount < 0 { progress.totalUnitCount = max(1, progress.completedUnitCount) }
            progress.completedUnitCount = progress.totalUnitCount
        }
    }
}
