import Clock
import Foundation
import Glibc
package import NightshiftAPI
import Scheduler
package import Sessions
import Store

/// Sessions of apps: made by their library, known to them by a name of their own. See `docs/decisions/0009`.
extension TransferService {
    /// Makes the session or takes it up again. Tasks that are there keep the settings they were made with.
    package func attach(
        _ app: AppID, _ identifier: String, _ settings: SessionSettings
    ) async throws(Problem) -> SessionAttachment {
        let id = SessionID(app: app, identifier: identifier)
        guard !identifier.isEmpty else { throw .invalid("A session's identifier is not empty.") }
        try RequestRules.check(id)
        let settings = try RequestRules.accepted(settings)
        let next = try await change { transaction -> Result<Int64, Problem> in
            if let obstacle = try transaction.obstacle(toMaking: id) { return .failure(obstacle) }
            return .success(try transaction.putSession(app, identifier, settings))
        }
        await pump()
        return SessionAttachment(session: id, nextTaskIdentifier: next)
    }

    /// Throws where a process other than `process` lives and reads the session's messages.
    package func requireFree(_ session: SessionID, for process: Int32) throws(Problem) {
        guard let holder = appSessions.holder(of: session, besides: process), Self.lives(holder) else { return }
        throw .sessionInUse("Process \(holder) has session '\(session)'.")
    }

    /// Whether the process runs or is stopped. One whose parent has yet to ask for its status is gone all the same.
    private static func lives(_ process: Int32) -> Bool {
        ProcessStatistics(of: process).map { !$0.isZombie } ?? false
    }

    /// Accepts tasks that the app has numbered. One that is here already is not taken twice: its id is the answer again.
    ///
    /// - Parameters:
    ///   - process: whose descriptors the sources of uploads are.
    ///   - terms: what the app's state makes of the tasks, in the transaction that accepts them; nothing where nil.
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
            // The same request may have come twice at once: then the other one has taken what both bring.
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
                    // What is copied is what the process has open, and what people are shown is its name.
                    record.uploadSource = record.sentFiles
                    record.request.source = new[index].request.source
                }
                record.taskIdentifier = new[index].taskIdentifier
                record.clientData = new[index].clientData
                if new[index].asksBeforeBeginning ?? false, let date = new[index].request.earliestBeginDate {
                    // One that has passed on the way to the service has come: the app is asked at once.
                    record.beginAt = date.timeIntervalSince1970
                    record.asksFirst = true
                }
            }.ids
        let all = known.merging(zip(new.map(\.taskIdentifier), ids)) { old, _ in old }
        return numbers.compactMap { all[$0] }
    }

    /// The session's tasks that have not ended.
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

    /// Cancels and forgets what is left of the session, then the session.
    package func invalidate(_ app: AppID, _ identifier: String) async throws(Problem) {
        let session = SessionID(app: app, identifier: identifier)
        try await removeSession(session)
        appSessions.remove(session)
    }

    /// The user has force-quit the app: its tasks end, downloads with resume data where they can have it.
    package func forceQuit(_ app: AppID) async throws(Problem) {
        let failure = TransferFailure(.forceQuit, "The user force-quit the app.")
        let sessions = try await ask { transaction in
            try transaction.sessionNames(of: app).map { SessionID(app: app, identifier: $0) }
        }
        // Each that ends lets others begin, which must not be those that are to end next.
        for session in sessions { claims.hold(session) }
        defer { letGo(sessions) }
        let tasks = try await ask { transaction in
            try sessions.flatMap { try transaction.unfinishedTasks(session: $0) }
        }
        // Each of them, though the disk may have failed for one.
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

    /// The user is back, and the rows of the app's tasks say by now that they are not held back any more
    /// (``StoreTransaction/liftHolds(of:at:)``): what runs follows them, and what waited may start.
    package func cameToFront(_ app: AppID) async {
        for (id, transfer) in active where transfer.record.app == app && transfer.record.isDiscretionForced {
            active[id]?.record.liftDiscretion()
        }
        await pump()
    }

    /// Progress is not sent to an app that cannot read it: it would find it all, and old, when it goes on.
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
