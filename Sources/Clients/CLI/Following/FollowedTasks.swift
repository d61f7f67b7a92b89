import Foundation
import NightshiftAPI

/// The known state of a task that this program follows.
struct FollowedTask: Sendable {
    var id: TaskID
    var kind: TaskKind
    /// The name, escaped for a terminal.
    var name: String
    var state: TaskState = .waiting
    var wait: Wait?
    var lastError: TransferFailure?
    /// The number of bytes that an upload has sent or a download has received.
    var done: Int64 = 0
    /// The expected number of bytes, or -1 if it is unknown.
    var total: Int64 = -1
    var bytesPerSecond: Double = 0

    /// The failure that causes the wait: the task's own failure, or a failure of the route for which all transfers
    /// wait.
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

/// The tasks that this program follows, updated by events. A pure value, so that tests can try every order of events.
struct FollowedTasks: Sendable {
    private(set) var pending: [TaskID: FollowedTask] = [:]
    /// The tasks in ``pending`` that transfer bytes.
    private(set) var active: Set<TaskID> = []
    private(set) var completed = 0
    private(set) var failed = 0
    private(set) var bytesOfEnded: Int64 = 0
    /// Whether this program also follows tasks that are accepted later.
    var includesNewTasks = false

    /// An action that the caller must perform because of an event.
    enum Need: Hashable, Sendable {
        case nothing
        /// The action that reads the status of a task and passes it to ``update(_:)``.
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
            .undivided, .mirrorDropped, .mirrorAsked, .yielded, .yieldEnded, .conditionsLoosened, .conditionsLifted,
            .serviceFault,
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
        // Only a running task has progress. The journal entry about its start arrives a little later, or together with
        // the entry about its end.
        if task.state == .waiting {
            task.state = .running
            task.wait = nil
        }
        pending[progress.id] = task
        noteActivity(task)
    }

    /// Returns the tasks whose present wait reason is unknown. A reason is unknown if no event contained it, if its
    /// time is over, or if the service is trying the host. Returns an empty list if more than `limit` tasks are
    /// pending.
    ///
    /// If a task waits because of its host or because of other tasks, no journal entry about the task contains the
    /// reason.
    func unexplained(at now: Date, limit: Int) -> [FollowedTask] {
        guard pending.count <= limit else { return [] }
        return pending.values.filter { task in
            guard task.state == .waiting else { return false }
            guard let wait = task.wait else { return true }
            return wait.until.map { $0 <= now } ?? (wait.reason == .hostBackoff)
        }.sorted { $0.id < $1.id }
    }

    /// Applies the status of a task that ``unexplained(at:limit:)`` returned. Returns the task if its wait has changed.
    ///
    /// If an event has changed the task since the request, the status may be older than the event and is ignored.
    mutating func explain(_ asked: FollowedTask, _ status: TaskStatus) -> FollowedTask? {
        guard let known = pending[asked.id], known.state == .waiting, known.wait == asked.wait else { return nil }
        let task = FollowedTask(status)
        add(task)
        return task.state == .waiting && task.wait != asked.wait ? task : nil
    }

    /// Applies a new status, and returns true if the task was pending and has ended.
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

    /// Removes a task that was removed from the service's list.
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
