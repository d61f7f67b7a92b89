import Clock
import Foundation
import Glibc
package import NightshiftAPI
import Scheduler
package import Sessions
import Store

/// Sessions, and the settings of the service. An app's library creates its sessions and knows them by the app's own
/// identifiers. See `docs/decisions/0009`.
extension TransferService {
    package nonisolated func sessions() async throws(Problem) -> [SessionStatus] {
        try await store.ask { try $0.sessions() }.map(\.withoutSecrets)
    }

    package nonisolated func session(_ id: SessionID) async throws(Problem) -> SessionStatus {
        guard let session = try await store.ask({ try $0.sessions(id).first }) else { throw .noSession(id) }
        return session.withoutSecrets
    }

    nonisolated func requireSession(_ session: SessionID) async throws(Problem) {
        guard try await store.ask({ try $0.sessionSettings(session) }) != nil else { throw .noSession(session) }
    }

    /// Creates the session or replaces its settings. Existing tasks keep their settings.
    package func putSession(_ id: SessionID, _ settings: SessionSettings) async throws(Problem) -> SessionStatus {
        try await put(id, settings) { try $0.putSession(id, $1) }
        return try await session(id)
    }

    /// Creates the session of an app, or attaches to an existing one. Existing tasks keep the settings that they were
    /// created with.
    package func attach(
        _ app: AppID, _ identifier: String, _ settings: SessionSettings
    ) async throws(Problem) -> SessionAttachment {
        let id = SessionID(app: app, identifier: identifier)
        guard !identifier.isEmpty else { throw .invalid("The identifier of a session must not be empty.") }
        let next = try await put(id, settings) { try $0.putSession(app, identifier, $1) }
        return SessionAttachment(session: id, nextTaskIdentifier: next)
    }

    @discardableResult
    private func put<Value: Sendable>(
        _ id: SessionID, _ settings: SessionSettings,
        _ body: @escaping @Sendable (StoreTransaction, SessionSettings) throws -> Value
    ) async throws(Problem) -> Value {
        try RequestRules.check(id)
        let settings = try RequestRules.accepted(settings)
        let value = try await store.change { transaction in
            if let obstacle = try transaction.obstacle(toMaking: id) { throw obstacle }
            return try body(transaction, settings)
        }
        await schedule()
        return value
    }

    // MARK: - Tasks of apps

    /// Throws if a living process other than `process` reads the session's messages.
    package func requireFree(_ session: SessionID, for process: Int32) throws(Problem) {
        guard let holder = appSessions.holder(of: session, besides: process), Self.lives(holder) else { return }
        throw .sessionInUse("Process \(holder) is already attached to session '\(session)'.")
    }

    /// Returns whether the process is running or stopped. A zombie, whose parent has not yet collected its status, does
    /// not count.
    private static func lives(_ process: Int32) -> Bool {
        ProcessStatistics(of: process).map { !$0.isZombie } ?? false
    }

    /// Accepts tasks that the app has numbered. If a task already exists, it is not added twice, and the answer
    /// contains its id.
    ///
    /// - Parameters:
    ///   - process: the process whose descriptors the upload sources name.
    ///   - terms: the effect of the app's state on the tasks, applied in the transaction that accepts them; nil for no
    ///     effect.
    package nonisolated func enqueue(
        _ app: AppID, _ identifier: String, _ request: SessionEnqueueRequest, process: Int32 = getpid(),
        on terms: AppTaskTerms.Query? = nil
    ) async throws(Problem) -> [TaskID] {
        let session = SessionID(app: app, identifier: identifier)
        try await requireSession(session)
        try request.check()
        let accepted = try await intake.add(request.tasks, to: session, by: process, on: terms)
        await added(replacing: accepted.abandoned)
        return accepted.ids
    }

    /// Returns the tasks of the session that have not ended.
    package nonisolated func sessionTasks(
        _ app: AppID, _ identifier: String, after: TaskID?, limit: Int
    ) async throws(Problem) -> SessionTaskPage {
        let session = SessionID(app: app, identifier: identifier)
        try await requireSession(session)
        let states = Set(TaskState.allCases.filter { !$0.isTerminal })
        let page = try await page(after: after, limit: limit) { transaction, after, limit in
            try transaction.rows(session: session, states: states, after: after, limit: limit)
        } item: { record in
            let task = await self.sessionTask(record)
            return (task, task.task.textBytes + (task.clientData?.utf8.count ?? 0))
        }
        return SessionTaskPage(tasks: page.items, next: page.next)
    }

    func sessionTask(_ record: TaskRecord) -> SessionTask {
        var task = SessionTask(
            task: wholeStatus(of: record), clientData: record.clientData, resumedAt: record.resumedAt)
        let url = record.currentURL ?? record.request.url
        task.cookies = url.flatMap { record.response?.cookies(of: $0) }
        return task
    }

    /// Lets the app's tasks run without restrictions after the user has returned to the app. The rows of the tasks are
    /// already updated (``StoreTransaction/liftHolds(of:at:)``). This function updates running transfers to match their
    /// rows, and starts waiting tasks.
    package func cameToFront(_ app: AppID) async {
        for transfer in active.values where transfer.record.app == app && transfer.record.isDiscretionForced {
            transfer.run.discretionLifted()
            updateYield(transfer)
        }
        await schedule()
    }

    /// Takes the news that an app came to the foreground or left it. Its transfers yield in the background only.
    package func use(_ app: AppID, isInFront: Bool) {
        guard bounds.use(app, isInFront: isInFront) else { return }
        for transfer in active.values where transfer.record.app == app { updateYield(transfer) }
    }

    /// Enables or disables progress events for an app. A suspended app cannot read progress events, and would find many
    /// outdated ones when it resumes.
    package func setListening(_ app: AppID, _ isListening: Bool) {
        appSessions.setListening(app, isListening)
    }

    // MARK: - Ends

    /// Cancels and deletes the remaining tasks of an app's session, then deletes the session.
    package func invalidate(_ app: AppID, _ identifier: String) async throws(Problem) {
        let session = SessionID(app: app, identifier: identifier)
        try await removeSession(session)
        appSessions.remove(session)
    }

    /// Ends the tasks of an app that the user has force-quit. Downloads get resume data if possible.
    package func forceQuit(_ app: AppID) async throws(Problem) {
        let failure = TransferFailure(.forceQuit, "The user force-quit the app.")
        let sessions = try await store.ask { transaction in
            try transaction.sessionNames(of: app).map { SessionID(app: app, identifier: $0) }
        }
        // Each task that ends lets others start, so the sessions are blocked until all of their tasks have ended.
        for session in sessions { claims.hold(session) }
        defer { letGo(sessions) }
        let tasks = try await store.ask { transaction in
            try sessions.flatMap { try transaction.unfinishedTasks(session: $0) }
        }
        // The loop continues with the other tasks even if the disk failed for one of them.
        var problem: Problem?
        for task in tasks {
            do throws(Problem) {
                try await end(task, producingResumeData: true, because: failure)
            } catch {
                problem = problem ?? error
            }
        }
        if let problem { throw problem }
    }

    /// Cancels and deletes all tasks of the session, then deletes the session.
    package func removeSession(_ id: SessionID) async throws(Problem) {
        guard id != .terminal else {
            throw .conflict("The session 'terminal' cannot be removed. Remove its transfers instead.")
        }
        _ = try await session(id)
        claims.hold(id)
        defer { letGo([id]) }
        while true {
            var endless: Set<TaskID> = []
            for task in try await store.ask({ try $0.unfinishedTasks(session: id) })
            where try await !end(task, producingResumeData: false) {
                endless.insert(task)
            }
            // The client that added a task meanwhile got a successful answer, so this task is cancelled like the
            // others.
            while let part = try await store.change({ [endless] transaction in
                try transaction.removeTasks(of: id, endless, limit: Self.removedAtOnce)
            }) {
                await files.remove(of: part.records)
                if part.isLast { return }
            }
        }
    }

    /// The number of tasks that are removed in one commit, because a session may have a million tasks. It is small
    /// enough that other commits do not wait long, and that the rows fit in memory.
    private static let removedAtOnce = 1_000

    /// Allows tasks of these sessions to start again, after their existing tasks had to end.
    func letGo(_ sessions: [SessionID]) {
        for session in sessions { claims.letGo(session) }
        scheduleSoon()
    }

    /// Cancels a task, or waits for its end if it is already ending.
    ///
    /// - Returns: whether the task was cancelled. Otherwise it has ended or nothing runs for it: its row cannot be
    ///   read, or its file waits to be published.
    /// - Throws: 503 if the disk has failed; the task then continues.
    @discardableResult
    func end(
        _ task: TaskID, producingResumeData: Bool, because failure: TransferFailure? = nil
    ) async throws(Problem) -> Bool {
        for _ in 1...2 {
            do {
                try await perform(.cancel, task, producingResumeData: producingResumeData, because: failure)
                return true
            } catch {
                guard error.status != 503 else { throw error }
                // A task that has just ended needs no cancellation. A finishing task ends without one, or can be
                // cancelled after this wait.
                await quiet(task)
            }
        }
        return false
    }

    // MARK: - Settings of the service

    package func settings() async throws(Problem) -> ServiceSettings {
        bounds.limits.settings
    }

    package func change(_ settings: ServiceSettings) async throws(Problem) -> ServiceSettings {
        try RequestRules.check(settings)
        let (changed, order) = try await store.change { [now] transaction in
            let changed = try transaction.limits().changed(by: settings)
            try transaction.put(
                rateLimit: changed.rateLimit, maximumTransfers: changed.maximumTransfers, yield: changed.yield)
            try transaction.record(
                JournalEntry(time: now.date, decision: .settingsChanged, detail: changed.sentence))
            return (changed, try transaction.order())
        }
        apply(changed, order)
        await schedule()
        return changed.settings
    }

    func apply(_ limits: ServiceLimits, _ order: Int64) {
        bounds.take(limits, order)
        environment.transport.setRateLimit(bounds.limits.rateLimit)
        for transfer in active.values { updateYield(transfer) }
    }
}

extension StoreTransaction {
    func limits() throws -> ServiceLimits { try settings().map { ServiceLimits($0) } ?? ServiceLimits() }
}

extension SessionStatus {
    fileprivate var withoutSecrets: SessionStatus {
        var copy = self
        copy.settings.headers = copy.settings.headers.map(\.shown)
        copy.settings.proxy = copy.settings.proxy.map(Redaction.proxy)
        return copy
    }
}
