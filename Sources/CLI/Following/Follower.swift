import Foundation
import NightshiftAPI
import NightshiftClient

/// Follows tasks to their end, through restarts of the service.
actor Follower {
    private let service: Service
    private var reporter: any TransferReporter
    private var tasks: FollowedTasks
    /// The last journal entry whose meaning is in ``tasks`` or in ``unread``.
    private var lastEntry: Int64
    /// Whether statuses have to be read before events mean anything.
    private var needsReading: Bool
    /// Tasks whose status an event has asked for, and was not read yet.
    private var unread: Set<TaskID> = []
    private var reading: Task<Void, any Error>?
    private let now: @Sendable () -> Date
    private var ticks = 0

    /// So many or fewer are asked for by number, and each end is looked at when it comes; of more, those of a moment together.
    private static let few = 20
    /// Statuses read with one request.
    private static let batch = 100
    /// So many pictures after the last time it is asked what tasks wait for: about a second.
    private static let ticksBetweenQuestions = 5

    /// - Parameters:
    ///   - tasks: what is known already.
    ///   - lastEntry: the journal's end before `tasks` was true; nil when nothing is known yet.
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

    /// The tasks as they are now.
    var snapshot: FollowedTasks { tasks }

    /// To be called some times a second.
    ///
    /// - Throws: what the reporter does; what the service has to say to it is the business of ``run()``.
    func tick() async throws {
        do {
            try await readUnread()
            ticks += 1
            if ticks.isMultiple(of: Self.ticksBetweenQuestions) { try await readWaits() }
        } catch is ServiceUnreachable, is Problem {
        }
        reporter.tick(tasks)
    }

    /// Takes the picture off the screen and says how things stand. To be called once, when ``run()`` is over.
    func finish() {
        reporter.finish(tasks)
    }

    /// Returns when every task has ended.
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
                // It is about to stop, or has too many readers for the moment.
            }
            if !isLost {
                isLost = true
                try reporter.connection(isLost: true)
            }
            // At once the first time; then slower and slower, for a service that ends again and again.
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

    /// Reads the statuses that were asked for; those that cannot be read stay asked for.
    private func readUnread() async throws {
        while !unread.isEmpty {
            // The first caller reads. A caller that comes meanwhile waits for it, and reads what it has left.
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

    /// Asks what tasks wait for, where no event says it.
    private func readWaits() async throws {
        guard !needsReading else { return }
        let asked = Dictionary(
            uniqueKeysWithValues: tasks.unexplained(at: now(), limit: Self.batch).map { ($0.id, $0) })
        guard !asked.isEmpty else { return }
        try await service.forEachTask(TaskFilter(tasks: asked.keys.sorted())) { status in
            // That it has ended an event says as well, for which run() waits.
            guard let known = asked[status.id], !status.state.isTerminal else { return }
            if let task = tasks.explain(known, status) { try reporter.learned(task) }
        }
    }

    /// Somebody removed it from the list.
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

    /// Reads all statuses anew. The journal's end is asked for first, so that nothing falls in between.
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

    /// Few tasks are asked for by number; of many, all events are read and those of others passed over.
    private var source: EventSource {
        let ids = tasks.pending.keys
        let isNamed = ids.count <= 100 && !tasks.includesNewTasks
        return .events(progress: true, tasks: isNamed ? ids.sorted() : [])
    }
}
