import Clock
import Foundation
import Glibc
package import NightshiftAPI
import Scheduler
package import Sessions
import Store

/// Sessions of apps. The app's library creates these sessions and knows them by the app's own identifiers. See
/// `docs/decisions/0009`.
extension TransferService {
    /// Creates the session, or attaches to an existing one. Existing tasks keep the settings that they were created
    /// with.
    package func attach(
        _ app: AppID, _ identifier: String, _ settings: SessionSettings
    ) async throws(Problem) -> SessionAttachment {
        let id = SessionID(app: app, identifier: identifier)
        guard !identifier.isEmpty else { throw .invalid("The identifier of a session must not be empty.") }
        try RequestRules.check(id)
        let settings = try RequestRules.accepted(settings)
        let next = try await change { transaction -> Result<Int64, Problem> in
            if let obstacle = try transaction.obstacle(toMaking: id) { return .failure(obstacle) }
            return .success(try transaction.putSession(app, identifier, settings))
        }
        await schedule()
        return SessionAttachment(session: id, nextTaskIdentifier: next)
    }

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
        let numbers = request.tasks.map(\.taskIdentifier)
        do throws(Problem) {
            return try await addTasks(request.tasks, session, process, terms)
        } catch {
            // The same request may arrive twice at the same time. The other one has then already added these tasks.
            let known = try await known(numbers, session)
            guard known.count == numbers.count else { throw error }
            return numbers.compactMap { known[$0] }
        }
    }

    private nonisolated func known(_ numbers: [Int64], _ session: SessionID) async throws(Problem) -> [Int64: TaskID] {
        try await ask { transaction in
            try numbers.reduce(into: [Int64: TaskID]()) { $0[$1] = try transaction.task($1, of: session) }
        }
    }

    private nonisolated func addTasks(
        _ tasks: [SessionTaskRequest], _ session: SessionID, _ process: Int32, _ terms: AppTaskTerms.Query?
    ) async throws(Problem) -> [TaskID] {
        let numbers = tasks.map(\.taskIdentifier)
        let known = try await known(numbers, session)
        let new = tasks.filter { known[$0.taskIdentifier] == nil }
        let ids =
            new.isEmpty
            ? []
            : try await enqueue(new.map { $0.opened(by: process) }, in: session, on: terms) { index, record in
                if new[index].sourceDescriptor != nil {
                    // The copy is made from the descriptor that the process has open, but displayed messages contain
                    // the name of the file.
                    record.uploadSource = record.sentFiles
                    record.request.source = new[index].request.source
                }
                record.taskIdentifier = new[index].taskIdentifier
                record.clientData = new[index].clientData
                if new[index].asksBeforeBeginning ?? false, let date = new[index].request.earliestBeginDate {
                    // A begin date that passed while the request was being sent counts as reached, so the app is asked
                    // at once.
                    record.beginAt = date.timeIntervalSince1970
                    record.asksFirst = true
                }
            }.ids
        let all = known.merging(zip(new.map(\.taskIdentifier), ids)) { old, _ in old }
        return numbers.compactMap { all[$0] }
    }

    /// Returns the tasks of the session that have not ended.
    package nonisolated func sessionTasks(
        _ app: AppID, _ identifier: String, after: TaskID?, limit: Int
    ) async throws(Problem) -> SessionTaskPage {
        let session = SessionID(app: app, identifier: identifier)
        try await requireSession(session)
        let states = Set(TaskState.allCases.filter { !$0.isTerminal })
        let limit = max(1, min(limit, Limits.pageSize))
        var tasks: [SessionTask] = []
        var next = after
        var bytes = 0
        while tasks.count < limit {
            let wanted = min(limit - tasks.count, Self.rowsAtOnce)
            let rows = try await ask { [next] transaction in
                try transaction.rows(session: session, states: states, after: next, limit: wanted)
            }
            for record in rows.records {
                let task = await sessionTask(record)
                tasks.append(task)
                bytes += task.task.textBytes + (task.clientData?.utf8.count ?? 0)
                if bytes >= Limits.pageBytes { return SessionTaskPage(tasks: tasks, next: record.id) }
            }
            next = rows.last
            if rows.count < wanted { return SessionTaskPage(tasks: tasks, next: nil) }
        }
        return SessionTaskPage(tasks: tasks, next: next)
    }

    /// Cancels and deletes the remaining tasks of the session, then deletes the session.
    package func invalidate(_ app: AppID, _ identifier: String) async throws(Problem) {
        let session = SessionID(app: app, identifier: identifier)
        try await removeSession(session)
        appSessions.remove(session)
    }

    /// Ends the tasks of an app that the user has force-quit. Downloads get resume data if possible.
    package func forceQuit(_ app: AppID) async throws(Problem) {
        let failure = TransferFailure(.forceQuit, "The user force-quit the app.")
        let sessions = try await ask { transaction in
            try transaction.sessionNames(of: app).map { SessionID(app: app, identifier: $0) }
        }
        // Each task that ends lets others start, so the sessions are blocked until all of their tasks have ended.
        for session in sessions { claims.hold(session) }
        defer { letGo(sessions) }
        let tasks = try await ask { transaction in
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

    /// Lets the app's tasks run without restrictions after the user has returned to the app. The rows of the tasks are
    /// already updated (``StoreTransaction/liftHolds(of:at:)``). This function updates running transfers to match their
    /// rows, and starts waiting tasks.
    package func cameToFront(_ app: AppID) async {
        for (id, transfer) in active where transfer.record.app == app && transfer.record.isDiscretionForced {
            active[id]?.record.liftDiscretion()
        }
        await schedule()
    }

    /// Enables or disables progress events for an app. A suspended app cannot read progress events, and would find many
    /// outdated ones when it resumes.
    package func setListening(_ app: AppID, _ isListening: Bool) {
        appSessions.setListening(app, isListening)
    }

    nonisolated func requireSession(_ session: SessionID) async throws(Problem) {
        guard try await ask({ try $0.sessionSettings(session) }) != nil else {
            throw .noSession(session)
        }
    }

    func sessionTask(_ record: TaskRecord) -> SessionTask {
        var task = SessionTask(
            task: wholeStatus(of: record), clientData: record.clientData, resumedAt: record.resumedAt)
        let url = record.currentURL ?? record.request.url
        task.cookies = url.flatMap { record.response?.cookies(of: $0) }
        return task
    }
}
