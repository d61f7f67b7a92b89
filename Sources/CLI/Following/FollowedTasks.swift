import Foundation
import NightshiftAPI

/// What a watcher knows of one task.
struct FollowedTask: Sendable {
    var id: TaskID
    var kind: TaskKind
    /// Escaped for the terminal.
    var name: String
    var state: TaskState = .waiting
    var wait: Wait?
    var lastError: TransferFailure?
    /// Body bytes moved in the task's main direction.
    var done: Int64 = 0
    /// -1 while it is not known.
    var total: Int64 = -1
    var bytesPerSecond: Double = 0

    /// What it waits after: its own last failure, or the one for which all that go its way pause.
    var failure: TransferFailure? { wait?.failure ?? lastError }

    init(id: TaskID, kind: TaskKind, name: String) {
        self.id = id
        self.kind = kind
        self.name = name
    }

    init(_ status: TaskStatus) {
        id = status.id
        kind = status.kind
        name = TaskText.name(status)
        state = status.state
        wait = status.wait
        lastError = status.lastError
        let isUpload = status.kind == .upload
        done = isUpload ? status.countOfBytesSent : status.countOfBytesReceived
        total = isUpload ? status.countOfBytesExpectedToSend : status.countOfBytesExpectedToReceive
        bytesPerSecond = status.bytesPerSecond ?? 0
    }
}

/// The tasks a watcher waits for, kept up to date from events: pure, so that every order of events can be tried.
struct FollowedTasks: Sendable {
    private(set) var pending: [TaskID: FollowedTask] = [:]
    /// Those of ``pending`` that move bytes.
    private(set) var active: Set<TaskID> = []
    private(set) var completed = 0
    private(set) var failed = 0
    private(set) var bytesOfEnded: Int64 = 0
    /// Whether tasks that are accepted later count too.
    var includesNewTasks = false

    /// What an event asks its reader to do.
    enum Need: Hashable, Sendable {
        case nothing
        /// The task's status has to be read and given to ``update(_:)``.
        case status(TaskID)
    }

    var count: Int { pending.count + completed + failed }

    mutating func add(_ task: FollowedTask) {
        pending[task.id] = task
        noteActivity(task)
    }

    mutating func apply(_ entry: JournalEntry) -> Need {
        guard let id = entry.task else { return .nothing }
        guard var task = pending[id] else {
            return includesNewTasks && entry.decision == .accepted ? .status(id) : .nothing
        }
        if let error = entry.error { task.lastError = error }
        switch entry.decision {
        case .started, .restarted, .uploadRestarted:
            task.state = .running
            task.wait = nil
            task.done = 0
        case .continued, .uploadKept, .uploadContinued:
            task.state = .running
            task.wait = nil
        case .held:
            task.state = entry.wait?.reason == .serviceFault ? .suspended : .waiting
            task.wait = entry.wait
            task.bytesPerSecond = 0
        case .asked:
            task.state = .waiting
            task.wait = entry.wait ?? Wait(reason: .answer, since: entry.time)
            task.bytesPerSecond = 0
        case .suspended:
            task.state = .suspended
            task.wait = nil
            task.bytesPerSecond = 0
        case .resumed, .answered, .retargeted, .retried:
            task.state = .waiting
            task.wait = nil
        case .finishing:
            task.state = .finishing
            task.bytesPerSecond = 0
        case .completed, .failed, .cancelled:
            return .status(id)
        case .removed:
            end(id, whole: false, bytes: 0)
            return .nothing
        case .accepted, .changed, .serviceStarted, .serviceStopping, .networkLost, .networkReturned, .hostPaused,
            .appInstalled, .appRemoved, .appLaunched, .appAdopted, .appEntered, .appWoken, .appWakeCompleted,
            .appWakeDropped, .appLaunchPaused, .appEnded, .appHoldsLock, .backgroundTaskBegan, .backgroundTaskEnded,
            .backgroundTaskRefused, .backgroundTimeExpiring, .backgroundTimeStopped, .backgroundTimeResumed,
            .stintBegan, .stintEnded, .deviceChanged, .deviceHeldAwake, .deviceReleased, .deviceSlept, .deviceWoke,
            .dozeBegan, .dozeEnded, .windowOpened, .windowClosed, .networkChanged, .reconnected, .divided,
            .undivided, .mirrorDropped, .mirrorAsked, .conditionsLoosened, .conditionsLifted, .serviceFault,
            .unreadable, .refreshChanged, .fetchBegan, .fetchEnded, .learnedForgotten, .useBegan, .useEnded,
            .taskSubmitted, .taskCancelled, .taskBegan, .taskEnded, .wakeExpiring,
            .regionAdded, .regionRemoved, .regionEntered, .regionLeft, .locationChanged,
            .locationPermission, .pushEnrolled, .pushConnected, .pushDisconnected,
            .pushRegistered, .pushReceived, .pushHeld, .pushDiscarded, .pushHandled,
            .notificationShown, .notificationNotShown, .notificationChosen, .notificationPermission, .settingsChanged:
            break
        }
        pending[id] = task
        noteActivity(task)
        return .nothing
    }

    mutating func apply(_ progress: TaskProgress) {
        guard var task = pending[progress.id] else { return }
        let sends = task.kind == .upload
        task.done = sends ? progress.countOfBytesSent : progress.countOfBytesReceived
        task.total = sends ? progress.countOfBytesExpectedToSend : progress.countOfBytesExpectedToReceive
        task.bytesPerSecond = progress.bytesPerSecond
        // Only what runs has progress. The journal tells of a start a moment later, or together with the end.
        if task.state == .waiting {
            task.state = .running
            task.wait = nil
        }
        pending[progress.id] = task
        noteActivity(task)
    }

    /// Tasks that wait, and what for is not known any more: no event has said it, the time is over, or the host is being tried;
    /// none where there are more than `limit`.
    ///
    /// What a task waits for that is held by its host, or by others, stands in no entry of the journal about that task.
    func unexplained(at now: Date, limit: Int) -> [FollowedTask] {
        guard pending.count <= limit else { return [] }
        return pending.values.filter { task in
            guard task.state == .waiting else { return false }
            guard let wait = task.wait else { return true }
            return wait.until.map { $0 <= now } ?? (wait.reason == .hostBackoff)
        }.sorted { $0.id < $1.id }
    }

    /// Takes the answer to what ``unexplained(at:limit:)`` has named; the task where its wait is another one than was known.
    ///
    /// An event that came between question and answer may be newer than the answer: then this changes nothing.
    mutating func explain(_ asked: FollowedTask, _ status: TaskStatus) -> FollowedTask? {
        guard let known = pending[asked.id], known.state == .waiting, known.wait == asked.wait else { return nil }
        let task = FollowedTask(status)
        add(task)
        return task.state == .waiting && task.wait != asked.wait ? task : nil
    }

    /// Takes a status that was just read; true when the task had been pending and has ended.
    mutating func update(_ status: TaskStatus) -> Bool {
        let isNew = pending[status.id] == nil
        guard status.state.isTerminal else {
            if !isNew || includesNewTasks { add(FollowedTask(status)) }
            return false
        }
        guard !isNew || includesNewTasks else { return false }
        pending[status.id] = pending[status.id] ?? FollowedTask(status)
        let bytes = status.kind == .upload ? status.countOfBytesSent : status.countOfBytesReceived
        end(status.id, whole: status.state == .completed, bytes: bytes)
        return true
    }

    /// A task that the service no longer knows: somebody removed it.
    mutating func forget(_ id: TaskID) {
        end(id, whole: false, bytes: 0)
    }

    private mutating func end(_ id: TaskID, whole: Bool, bytes: Int64) {
        guard pending.removeValue(forKey: id) != nil else { return }
        active.remove(id)
        if whole {
            completed += 1
            bytesOfEnded += bytes
        } else {
            failed += 1
        }
    }

    private mutating func noteActivity(_ task: FollowedTask) {
        if task.state == .running || task.state == .finishing {
            active.insert(task.id)
        } else {
            active.remove(task.id)
        }
    }
}
