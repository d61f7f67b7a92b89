import Foundation
import FoundationNetworking
import NightshiftAPI
import Synchronization

/// What a background download and a background upload have in common: the task as the app sees it.
///
/// For any thread. What the service is told of it goes through its session.
final class TaskCore: Sendable {
    let session: SessionCore
    let kind: TaskKind
    let identifier: Int
    /// The file to upload.
    let source: URL?
    let progress = Progress(totalUnitCount: -1)
    /// Of whoever tells the service about this task: for as long as the service copies the file of an upload.
    let turn = Turn()
    let state: Mutex<State>

    struct State {
        /// The service's number for it; nil while only this process knows of it.
        var id: TaskID?
        var originalRequest: URLRequest?
        var currentURL: URL?
        var response: URLResponse?
        var error: (any Error)?
        /// It starts suspended, once.
        var suspensions = 1
        /// Whether one of the suspensions stands for the progress, which is paused.
        var isPausedByProgress = false
        var phase = Phase.open
        var received: Int64 = 0
        var expectedToReceive: Int64 = 0
        var sent: Int64 = 0
        var expectedToSend: Int64 = 0
        var clientExpectsToSend: Int64 = NSURLSessionTransferSizeUnknown
        var clientExpectsToReceive: Int64 = NSURLSessionTransferSizeUnknown
        var priority: Float = URLSessionTask.defaultPriority
        var description: String?
        var earliestBeginDate: Date?
        /// The file to upload, open from when it was resumed until the service has a copy of it.
        var descriptor: Int32?
        /// Resume data to go on from.
        var token: String?
        /// What ``token`` is from, until the service has the task: the app can have it back.
        var resumeData: ResumeData?
        var note: String?
        /// Whether the service may have it although it has not said so.
        var mayBeKnown = false
        /// What the app has changed since the service may have the task, and the service has not heard of yet.
        var unsent: TaskChange?
        /// Whether the service holds it, as it has said last; nil while that is not known, since an answer is missing.
        var isHeld: Bool?
        /// Bytes that the delegate has heard of; nil for a download made from resume data, until it is known where it goes on.
        var reported: Int64? = 0

        /// - Returns: whether it is held from now on.
        mutating func suspend() -> Bool {
            guard phase == .open else { return false }
            suspensions += 1
            return suspensions == 1
        }

        /// - Returns: whether it runs from now on.
        mutating func resume() -> Bool {
            guard phase == .open, suspensions > 0 else { return false }
            suspensions -= 1
            return suspensions == 0
        }
    }

    enum Phase {
        case open
        case canceling
        case completed
    }

    /// A task that the app has just made.
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
        prepareProgress()
    }

    /// A task that the service has already.
    init(_ session: SessionCore, _ task: SessionTask) {
        self.session = session
        kind = task.task.kind
        identifier = Int(task.task.taskIdentifier)
        source = task.task.source.map { URL(filePath: $0) }
        var state = State()
        state.originalRequest = URLRequest(task)
        state.note = task.clientData
        let isHeld = task.task.state == .suspended
        state.isHeld = isHeld
        state.suspensions = isHeld ? 1 : 0
        // Bytes from before this process are not reported as new.
        state.reported = task.task.kind == .download ? task.task.countOfBytesReceived : task.task.countOfBytesSent
        self.state = Mutex(state)
        apply(task)
        prepareProgress()
    }

    deinit {
        closeSource()
    }

    private func prepareProgress() {
        progress.isCancellable = true
        progress.isPausable = true
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        progress.pausingHandler = { [weak self] in self?.followProgress() }
        progress.resumingHandler = { [weak self] in self?.followProgress() }
    }

    /// Foundation on Linux calls its handlers once for each call, and in any order: they only say that there is something to see.
    private func followProgress() {
        let (holds, begins) = state.withLock { state in
            let isPaused = progress.isPaused
            guard isPaused != state.isPausedByProgress else { return (false, false) }
            state.isPausedByProgress = isPaused
            return isPaused ? (state.suspend(), false) : (false, state.resume())
        }
        if holds { session.bringUpToDateLater(self) }
        if begins { begin() }
    }

    // MARK: - What the app does

    var visibleState: URLSessionTask.State {
        state.withLock { state in
            switch state.phase {
            case .canceling: .canceling
            case .completed: .completed
            case .open: state.suspensions > 0 ? .suspended : .running
            }
        }
    }

    /// Returns when the service has it on disk, or cannot be reached: then it is told as soon as it can be.
    func resume() {
        if state.withLock({ $0.resume() }) { begin() }
    }

    private func begin() {
        session.connection.wake()
        if openSource() {
            session.handOverUpload(self)
        } else {
            session.bringUpToDate(self, patience: SessionCore.resumePatience)
        }
    }

    func suspend() {
        if state.withLock({ $0.suspend() }) { session.bringUpToDateLater(self) }
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

    private func beginCancelling() -> Bool {
        state.withLock { state in
            guard state.phase == .open else { return false }
            state.phase = .canceling
            return true
        }
    }

    /// Changes what the service may have to hear of too: with the task itself, or when it has that.
    func change(_ change: TaskChange, _ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            guard state.id != nil || state.mayBeKnown else { return }
            let earlier = state.unsent
            state.unsent = TaskChange(
                priority: change.priority ?? earlier?.priority, description: change.description ?? earlier?.description)
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
            return state.id != nil || state.mayBeKnown
        }
        guard isKnown else { return }
        Notice.print(
            "The description of task \(identifier) has \(size) bytes, and only \(Limits.descriptionLength) bytes can be stored. The next "
                + "process of the app gets the previous description. Store the text elsewhere, and use a key as the description."
        )
    }

    /// What the service is to change of the task that it has.
    var unsentChange: (id: TaskID, change: TaskChange)? {
        state.withLock { state in
            guard state.phase == .open, let id = state.id, let change = state.unsent else { return nil }
            return (id, change)
        }
    }

    /// The next process of the app finds it as this one has it: by `note`.
    func replaceRequest(by request: URLRequest, note: String?) {
        state.withLock { state in
            state.originalRequest = request
            state.currentURL = nil
            state.note = note
        }
    }

    // MARK: - What the service says

    /// Takes over how the service sees it.
    func apply(_ task: SessionTask) {
        let status = task.task
        state.withLock { state in
            state.id = status.id
            state.currentURL = status.currentURL.flatMap { URL(string: $0) }
            // The app's own changes are newer until the service has heard of them.
            if state.unsent?.priority == nil { state.priority = Float(status.priority) }
            if state.unsent?.description == nil { state.description = status.description ?? state.description }
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
        progress.totalUnitCount = total > 0 ? total : -1
        progress.completedUnitCount = done
    }

    /// It is to go on from where resume data says, if it still can: progress may come before the message that says from where.
    func goOn(from resumeData: ResumeData?) {
        state.withLock { state in
            state.resumeData = resumeData
            state.token = resumeData?.token
            if kind == .download && resumeData != nil { state.reported = nil }
        }
    }

    /// The service has the task, or cannot use the resume data: nobody can go on from it any more.
    func discardResumeData() {
        let used = state.withLock { state in
            defer { state.resumeData = nil }
            return state.resumeData
        }
        used?.discardStandIn()
    }

    /// How many bytes are new to the delegate, and how many there are with them; nil where none are.
    func takeProgress() -> (bytes: Int64, total: Int64, expected: Int64)? {
        state.withLock { state in
            guard let reported = state.reported else { return nil }
            let total = kind == .download ? state.received : state.sent
            let expected = kind == .download ? state.expectedToReceive : state.expectedToSend
            // Fewer than before where a changed file made it begin again: told from there on.
            defer { state.reported = total }
            return total > reported ? (total - reported, total, expected) : nil
        }
    }

    /// It will not change again.
    func end(error: (any Error)?) {
        state.withLock { state in
            state.phase = .completed
            state.error = error
        }
        if error == nil {
            if progress.totalUnitCount < 0 { progress.totalUnitCount = max(1, progress.completedUnitCount) }
            progress.completedUnitCount = progress.totalUnitCount
        }
    }
}
