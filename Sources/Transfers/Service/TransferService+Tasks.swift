import Foundation
import Logging
package import NightshiftAPI
import Scheduler
import Sessions
import Store

/// Requests about tasks.
extension TransferService {
    /// Accepts all tasks of the request, or none.
    ///
    /// The tasks are checked outside the actor, so that a large batch blocks no other request.
    package nonisolated func enqueue(_ request: EnqueueRequest) async throws(Problem) -> [TaskID] {
        try await accept(request).ids
    }

    /// Accepts tasks like ``enqueue(_:)``, but also returns the tasks that existed before.
    package nonisolated func accept(_ request: EnqueueRequest) async throws(Problem) -> EnqueueResponse {
        guard let app = request.app else { return try await enqueue(request.tasks, in: request.session ?? .terminal) }
        guard let name = request.session?.rawValue, !name.isEmpty else {
            throw .invalid("A transfer of an app requires a session of that app.", pointer: "/session")
        }
        let session = SessionID(app: app, identifier: name)
        if try await ask({ try $0.sessionSettings(session) }) == nil {
            _ = try await attach(app, name, SessionSettings())
        } else {
            // Another client may have used the session's name before. The session's app will then be woken for that
            // client's tasks as well.
            try await change { .success(try $0.claimSession(app, name)) }
        }
        return try await enqueue(request.tasks, in: session)
    }

    /// Accepts tasks of an app, or of another client.
    ///
    /// - Parameters:
    ///   - terms: the effect of the app's state on the tasks; nil if no app adds them.
    ///   - complete: a function that adds fields that only the caller knows to the task at an index.
    nonisolated func enqueue(
        _ tasks: [TaskRequest], in session: SessionID,
        on terms: AppTaskTerms.Query? = nil,
        complete: @Sendable (Int, inout TaskRecord) -> Void = { _, _ in }
    ) async throws(Problem) -> EnqueueResponse {
        guard (1...Limits.tasksPerRequest).contains(tasks.count) else {
            throw .invalid("A request must contain 1 to \(Limits.tasksPerRequest) transfers.", pointer: "/tasks")
        }
        try RequestRules.check(session)
        let tokens = tasks.compactMap(\.resumeData)
        guard Set(tokens).count == tokens.count else {
            throw .invalid("Resume data can be used only once.", pointer: "/tasks")
        }
        let (settings, sources) = try await ask { transaction in
            (
                try transaction.sessionSettings(session) ?? SessionSettings(),
                try tokens.reduce(into: [String: TaskRecord]()) { $0[$1] = try transaction.task(resumeData: $1) }
            )
        }
        for task in tasks { try await expectSources(of: task) }
        // If a destination is on a file system that does not respond, it is checked when the task starts.
        var silent: Set<String> = []
        let destinations = (tasks + sources.values.map(\.request)).compactMap(\.destination?.directory)
        for directory in Set(destinations) where !(await answers(directory)) {
            silent.insert(directory)
        }
        let now = now
        var records: [TaskRecord] = []
        var abandoned: [TaskRecord] = []
        records.reserveCapacity(tasks.count)
        for (index, task) in tasks.enumerated() {
            let pointer = "/tasks/\(index)"
            let source = try task.resumeData.map { token throws(Problem) in try Self.source(sources[token], pointer) }
            if let source, source.kind != task.kind {
                throw .invalid(
                    "The resume data belongs to another kind of transfer (\(source.kind.rawValue)).",
                    pointer: "\(pointer)/resumeData")
            }
            let request = Self.continued(task, source)
            var record = try RequestRules.record(
                request, session: session, settings: settings, now: now, pointer: pointer,
                copies: task.source == nil && task.form == nil ? source : nil,
                looksAtDestination: request.destination.map { !silent.contains($0.directory) } ?? true)
            record.partial = source?.partial
            record.received = source?.received ?? 0
            record.upload = source?.upload
            record.sent = source?.upload?.offset ?? 0
            record.continues = source != nil
            if let source, source.request.url != record.request.url {
                record.leaveURL()
                abandoned.append(source)
            }
            complete(index, &record)
            records.append(record)
        }
        let copied = try await takeCopies(of: &records)
        let accepted: EnqueueResponse
        do throws(Problem) {
            accepted = try await insert(records, in: session, continuing: sources, on: terms, now)
        } catch {
            for source in copied { self.sources.remove(source) }
            throw error
        }
        for source in abandoned { await abandonUpload(source) }
        await schedule()
        return accepted
    }

    package nonisolated func task(_ id: TaskID) async throws(Problem) -> TaskStatus {
        guard let record = try await ask({ try $0.task(id) }) else { throw Self.noTask(id) }
        return await status(of: record)
    }

    package nonisolated func tasks(_ query: TaskQuery) async throws(Problem) -> TaskPage {
        let limit = max(1, min(query.limit, Limits.pageSize))
        // In the store, a running task has the state 'waiting'.
        let states = query.states.map { $0.contains(.running) ? $0.subtracting([.running]).union([.waiting]) : $0 }
        var found: [TaskStatus] = []
        var unreadable: [UnreadableTask] = []
        var after = query.after
        var bytes = 0
        while found.count < limit {
            let wanted = min(limit - found.count, Self.rowsAtOnce)
            let rows = try await ask { [after] transaction in
                try transaction.rows(
                    ids: query.tasks, session: query.session, states: states, after: after, limit: wanted)
            }
            for record in rows.records {
                let status = await status(of: record)
                guard query.states?.contains(status.state) ?? true else { continue }
                found.append(status)
                bytes += status.textBytes
                guard bytes >= Limits.pageBytes else { continue }
                unreadable += rows.unreadable.filter { $0.id < record.id }
                return TaskPage(tasks: found, unreadable: unreadable, next: record.id)
            }
            unreadable += rows.unreadable
            after = rows.last
            if rows.count < wanted { return TaskPage(tasks: found, unreadable: unreadable, next: nil) }
        }
        return TaskPage(tasks: found, unreadable: unreadable, next: after)
    }

    /// The number of rows that are read at the same time for a page. If rows do not fit into the page, they were read
    /// unnecessarily.
    static let rowsAtOnce = 100

    package func suspend(_ id: TaskID) async throws(Problem) -> TaskStatus {
        let (_, after) = try await transition(id) { $0.state == .suspended ? nil : .suspend }
        return status(of: after)
    }

    package func resume(_ id: TaskID) async throws(Problem) -> TaskStatus {
        let (_, after) = try await transition(id) { $0.state == .waiting ? nil : .resume }
        return status(of: after)
    }

    package func cancel(_ id: TaskID, producingResumeData: Bool) async throws(Problem) -> TaskStatus {
        try await cancel(id, producingResumeData: producingResumeData, because: nil)
    }

    func cancel(
        _ id: TaskID, producingResumeData: Bool, because failure: TransferFailure?
    ) async throws(Problem) -> TaskStatus {
        let (before, after) = try await transition(id) { record in
            Self.cancellation(of: record, producingResumeData: producingResumeData, because: failure)
        }
        if Self.isAbandoned(after) { discard(before) }
        return status(of: after)
    }

    static func cancellation(
        of record: TaskRecord, producingResumeData: Bool, because failure: TransferFailure?
    ) -> TaskEvent {
        let keeps = producingResumeData && record.isResumable
        return .cancel(resumeData: keeps ? newToken() : nil, failure: failure)
    }

    /// Returns whether the task was cancelled without resume data, so that no other task can continue it.
    static func isAbandoned(_ record: TaskRecord) -> Bool { record.state == .cancelled && record.resumeData == nil }

    /// Deletes a task that has ended, with its resume data and all files that the service stores for it.
    package func remove(_ id: TaskID) async throws(Problem) {
        let now = now
        let record = try await change { transaction -> Result<TaskRecord?, Problem> in
            try Self.remove(id, now, in: transaction)
        }
        if let record { await forgotten([record]) }
    }

    /// Deletes the row of a task. Returns its record; nil if the row could not be read.
    static func remove(
        _ id: TaskID, _ now: ClockReading, in transaction: StoreTransaction
    ) throws -> Result<TaskRecord?, Problem> {
        let found: TaskRecord?
        do {
            found = try transaction.task(id)
        } catch let error as StoreError where error.code == .unreadable {
            try transaction.record(JournalEntry(time: now.date, decision: .removed, task: id))
            try transaction.delete(id)
            return .success(nil)
        }
        guard let record = found else { return .failure(noTask(id)) }
        guard record.state.isTerminal else {
            return .failure(.conflict("Transfer \(id) has not ended. Cancel it first."))
        }
        guard try !transaction.hasMessages(id) else {
            return .failure(.conflict("The app has not been notified yet that transfer \(id) ended."))
        }
        try transaction.record(JournalEntry(time: now.date, decision: .removed, task: id))
        try transaction.delete(id)
        return .success(record)
    }

    /// Removes the remains of deleted tasks, on this machine and on servers.
    func forgotten(_ records: [TaskRecord]) async {
        await removeFiles(of: records)
        for record in records { abandonUpload(record) }
    }

    /// Returns the absolute path of the file that the service stores for a task: the file of a download without
    /// destination, or the response body of an upload.
    package nonisolated func keptFile(_ id: TaskID) async throws(Problem) -> String {
        guard let record = try await ask({ try $0.task(id) }) else { throw Self.noTask(id) }
        guard record.state.isTerminal else { throw .conflict("Transfer \(id) has not ended yet.") }
        guard let file = record.file, file.hasPrefix(environment.paths.files.path) else {
            throw .notFound(
                record.file.map { "The service does not store the bytes of transfer \(id). They are in \($0)." }
                    ?? "The service stores no bytes of transfer \(id).")
        }
        return file
    }

    /// Waits until nothing runs for the task, changes it in one transaction, and lets it run again.
    ///
    /// - Parameters:
    ///   - also: further changes in the same transaction.
    ///   - event: the event to apply in the state that is found; nil applies none.
    @discardableResult
    func transition(
        _ id: TaskID, also: @escaping @Sendable (StoreTransaction, inout TaskRecord) throws -> Void = { _, _ in },
        _ event: @escaping @Sendable (TaskRecord) -> TaskEvent?
    ) async throws(Problem) -> Transition {
        guard !finishing.contains(id) else { throw Self.isBeingPlaced(id) }
        claims.hold(id)
        interrupt(id, .starting)
        await quiet(id)
        let now = now
        let result: Result<Transition, Problem>
        do throws(Problem) {
            result = .success(
                try await change { transaction -> Result<Transition, Problem> in
                    try Self.transition(id, now, in: transaction, also: also, event)
                })
        } catch {
            result = .failure(error)
        }
        claims.letGo(id)
        await schedule()
        return try result.get()
    }

    /// Ends a task whose resource timeout has passed.
    ///
    /// - Returns: false if the end cannot be written now.
    func timeOut(_ id: TaskID) async -> Bool {
        let failure = Discretion.TimeLimit.passed
        do throws(Problem) {
            let (before, after) = try await transition(id) { record in
                record.state == .waiting
                    ? .fail(failure, file: nil, resumeData: record.isResumable ? Self.newToken() : nil) : nil
            }
            if after.state == .failed, after.resumeData == nil { discard(before) }
            return true
        } catch {
            guard error.status != 503 else {
                storeFailed(StoreError(.other, error.detail ?? error.title))
                return false
            }
            // The task is being published, or is gone. The queue will check it again.
            logger.debug(
                "A transfer whose resource timeout has passed could not be ended",
                metadata: ["task": "\(id)", "problem": "\(error.detail ?? error.title)"])
            return true
        }
    }

    /// A task before and after a transition.
    typealias Transition = (before: TaskRecord, after: TaskRecord)

    /// Changes a task that is idle.
    static func transition(
        _ id: TaskID, _ now: ClockReading, in transaction: StoreTransaction,
        also: (StoreTransaction, inout TaskRecord) throws -> Void, _ event: (TaskRecord) -> TaskEvent?
    ) throws -> Result<Transition, Problem> {
        guard let before = try transaction.task(id) else { return .failure(noTask(id)) }
        guard let event = event(before) else { return .success((before, before)) }
        var after = before
        let entries: [JournalEntry]
        do throws(IllegalTransition) {
            entries = try after.apply(event, now: now)
        } catch {
            // Clients may request any event in any state of the task.
            return .failure(.conflict(error.sentence(about: before)))
        }
        for entry in entries { try transaction.record(entry) }
        try also(transaction, &after)
        try transaction.update(after)
        if after.request != before.request || after.clientData != before.clientData {
            try transaction.putWishes(after)
        }
        if after.relaxesAt != before.relaxesAt { try transaction.putRules(after) }
        return .success((before, after))
    }

    static func isBeingPlaced(_ id: TaskID) -> Problem {
        .conflict("All bytes of transfer \(id) have arrived. The file is being moved to its destination.")
    }

    /// Waits until the task is idle.
    func quiet(_ id: TaskID) async {
        while active[id] != nil || claims.isStarting(id) || finishing.contains(id) {
            await withCheckedContinuation { claims.add($0, for: id) }
        }
    }

    static func noTask(_ id: TaskID) -> Problem {
        .notFound("There is no transfer \(id).")
    }

    /// Returns the task that the resume data belongs to.
    private static func source(_ record: TaskRecord?, _ pointer: String) throws(Problem) -> TaskRecord {
        guard let record else {
            throw .invalid(
                "The resume data is unknown to this service, or was already used.", pointer: "\(pointer)/resumeData")
        }
        return record
    }

    /// Returns the request, with missing fields filled in from the task that it continues.
    private static func continued(_ task: TaskRequest, _ source: TaskRecord?) -> TaskRequest {
        guard let old = source?.request.moved(to: task.url) else { return task }
        var request = task
        request.url = old.url
        request.connections = task.connections ?? old.connections
        request.mirrors = task.mirrors ?? old.mirrors
        request.headers = task.headers ?? old.headers
        request.credential = task.credential ?? task.ownCredential ?? old.credential
        request.destination = task.destination ?? old.destination
        if task.source == nil, task.form == nil {
            request.source = old.source
            request.form = old.form
            request.method = task.method ?? old.method
        }
        request.resumption = task.resumption ?? old.resumption
        request.snapshot = task.snapshot ?? old.snapshot
        request.checksum = task.checksum ?? old.checksum
        request.handlesCookies = task.handlesCookies ?? old.handlesCookies
        request.proxy = task.proxy ?? old.proxy
        request.proxyVariable = task.proxy == nil ? old.proxyVariable : task.proxyVariable
        request.tls = task.tls ?? old.tls
        request.isDiscretionary = task.isDiscretionary ?? old.isDiscretionary
        request.allowsCellularAccess = task.allowsCellularAccess ?? old.allowsCellularAccess
        request.allowsExpensiveNetworkAccess = task.allowsExpensiveNetworkAccess ?? old.allowsExpensiveNetworkAccess
        request.allowsConstrainedNetworkAccess =
            task.allowsConstrainedNetworkAccess ?? old.allowsConstrainedNetworkAccess
        request.requiresExternalPower = task.requiresExternalPower ?? old.requiresExternalPower
        request.minimumBattery = task.minimumBattery ?? old.minimumBattery
        request.resumeData = nil
        return request
    }
}
