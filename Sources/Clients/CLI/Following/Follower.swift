import Foundation
import NightshiftAPI
import NightshiftClient

/// A follower that tracks tasks until they have ended. It continues after the service restarts.
actor Follower {
    private let service: Service
    private var reporter: any TransferReporter
    private var tasks: FollowedTasks
    /// The last journal entry whose effects are in ``tasks`` or ``unread``.
    private var lastEntry: Int64
    /// Whether statuses must be read before events can be applied.
    private var needsReading: Bool
    /// The tasks whose status must be read because of an event.
    private var unread: Set<TaskID> = []
    private var reading: Task<Void, any Error>?
    private let now: @Sendable () -> Date
    private var ticks = 0

    /// The maximum number of tasks that are followed one by one. If there are more, the statuses of several ended tasks
    /// are read together.
    private static let few = 20
    /// The number of statuses that one request reads.
    private static let batch = 100
    /// The number of ticks between two requests for wait reasons. They take about a second.
    private static let ticksBetweenQuestions = 5

    /// Creates a follower for known tasks.
    ///
    /// - Parameters:
    ///   - tasks: the known tasks.
    ///   - lastEntry: the last journal entry before the state of `tasks`; nil if their state is unknown.
    init(
        service: Service, reporter: any TransferReporter, tasks: FollowedTasks, lastEntry: Int64?,
        now: @escaping @Sendable () -> Date
    ) {
        self.now = now
        self.service = service
        self.reporter = reporter
        self.tasks = tasks
        self.lastEntry = lastEntry ?? 0
        needsReading = lastEntry == nil
    }

    /// The present state of the tasks.
    var snapshot: FollowedTasks { tasks }

    /// Updates the display. It is called several times a second.
    ///
    /// - Throws: errors of the reporter. Errors of the service are handled by ``run()``.
    func tick() async throws {
        do {
            try await readUnread()
            ticks += 1
            if ticks.isMultiple(of: Self.ticksBetweenQuestions) { try await readWaits() }
        } catch is ServiceUnreachable, is Problem {
        }
        reporter.tick(tasks)
    }

    /// Erases the display and prints the result. It is called once, after ``run()``.
    func finish() {
        reporter.finish(tasks)
    }

    /// Follows the tasks and returns when every task has ended.
    func run() async throws {
        var pause: Duration = .zero
        var isLost = false
        while true {
            do {
                try await service.ready()
                if needsReading { try await read() }
                try await readUnread()
                if tasks.pending.isEmpty { return }
                var events = service.client.events(source, lastEventID: lastEntry).makeAsyncIterator()
                try await events.open()
                if isLost {
                    isLost = false
                    try reporter.connection(isLost: false)
                }
                while let event = try await events.next() {
                    pause = .zero
                    if let known = try event.serviceEvent() { try await apply(known) }
                    if tasks.pending.isEmpty { return }
                }
                try Task.checkCancellation()
            } catch is ServiceUnreachable {
                try Task.checkCancellation()
            } catch let problem as Problem where problem.status == 503 || problem.status == 429 {
                // The service is about to stop, or it has too many open event streams.
            }
            if !isLost {
                isLost = true
                try reporter.connection(isLost: true)
            }
            // The first attempt follows at once. The pauses grow, because the service may stop again.
            try await Task.sleep(for: pause)
            pause = min(max(pause * 2, .milliseconds(100)), .seconds(5))
        }
    }

    private func apply(_ event: ServiceEvent) async throws {
        switch event {
        case .progress(let progress):
            guard tasks.pending[progress.id] != nil else { return }
            tasks.apply(progress)
            try reporter.progressed(progress)
        case .journal(let entry):
            if let id = entry.task, let task = tasks.pending[id] {
                try reporter.decided(entry, task: task)
                if entry.decision == .removed { try reporter.removed(task) }
            }
            if case .status(let id) = tasks.apply(entry) { unread.insert(id) }
            lastEntry = max(lastEntry, entry.id)
            if tasks.pending.count <= Self.few || unread.count >= min(Self.batch, tasks.pending.count) {
                try await readUnread()
            }
        case .reset(let last):
            lastEntry = last
            needsReading = true
            try await read()
        }
    }

    /// Reads the statuses that must be read because of events. After an error, they must still be read.
    private func readUnread() async throws {
        while !unread.isEmpty {
            // The first caller reads the statuses. Other callers wait for the first, and then read the remaining
            // statuses.
            let task =
                reading
                ?? Task {
                    defer { reading = nil }
                    let ids = unread
                    try await readStatuses(ids)
                    unread.subtract(ids)
                }
            reading = task
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    private func readStatuses(_ ids: Set<TaskID>) async throws {
        guard ids.count > 1 else {
            for id in ids { try await read(id) }
            return
        }
        var missing = ids
        try await service.forEachTask(TaskFilter(tasks: ids.sorted())) { status in
            missing.remove(status.id)
            try update(status)
        }
        for id in missing.sorted() { try remove(id) }
    }

    /// Reads the wait reasons that were in no event.
    private func readWaits() async throws {
        guard !needsReading else { return }
        let asked = Dictionary(
            uniqueKeysWithValues: tasks.unexplained(at: now(), limit: Self.batch).map { ($0.id, $0) })
        guard !asked.isEmpty else { return }
        try await service.forEachTask(TaskFilter(tasks: asked.keys.sorted())) { status in
            // The end of a task causes an event, which run() handles.
            guard let known = asked[status.id], !status.state.isTerminal else { return }
            if let task = tasks.explain(known, status) { try reporter.learned(task) }
        }
    }

    /// Handles a task that was removed from the service's list.
    private func remove(_ id: TaskID) throws {
        guard let task = tasks.pending[id] else { return }
        tasks.forget(id)
        try reporter.removed(task)
    }

    private func read(_ id: TaskID) async throws {
        do {
            try update(try await service.client.send(.task(id)))
        } catch let problem as Problem where problem.status == 404 {
            try remove(id)
        }
    }

    /// Reads all statuses. The id of the last journal entry is read first, so that no later entry is missed.
    private func read() async throws {
        let last = try await service.client.send(.status).lastJournalEntry
        let ids = tasks.pending.keys.sorted()
        if ids.count <= Self.few && !tasks.includesNewTasks {
            for id in ids { try await read(id) }
        } else {
            try await readPages(ids)
        }
        lastEntry = last
        needsReading = false
    }

    private func readPages(_ ids: [TaskID]) async throws {
        var missing = Set(ids)
        let first = tasks.includesNewTasks ? nil : ids.first.map { TaskID($0.rawValue - 1) }
        let filter = TaskFilter(states: tasks.includesNewTasks && ids.isEmpty ? TaskState.unfinished : [])
        let last = tasks.includesNewTasks ? nil : ids.last
        try await service.forEachTask(filter, after: first, through: last) { status in
            missing.remove(status.id)
            if tasks.pending[status.id] != nil || !status.state.isTerminal { try update(status) }
        }
        for id in missing.sorted() { try remove(id) }
    }

    private func update(_ status: TaskStatus) throws {
        if tasks.update(status) { try reporter.ended(status, of: tasks) }
    }

    /// The source of events. If there are few tasks, the request names them. If there are many, all events are read,
    /// and events of other tasks are ignored.
    private var source: EventSource {
        let ids = tasks.pending.keys
        let isNamed = ids.count <= 100 && !tasks.includesNewTasks
        return .events(progress: true, tasks: isNamed ? ids.sorted() : [])
    }
}
