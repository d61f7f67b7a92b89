import NightshiftAPI
import Store

/// A task before and after a transition.
typealias TaskTransition = (before: TaskRecord, after: TaskRecord)

/// Changes of tasks that clients request. Each is a part of a transaction, and throws a ``Problem`` if it is refused.
extension StoreTransaction {
    /// Returns a task that a client has named.
    func required(_ id: TaskID) throws -> TaskRecord {
        do {
            guard let record = try task(id) else { throw Problem.noTask(id) }
            return record
        } catch let error as StoreError where error.code == .unreadable {
            throw Problem(error)
        }
    }

    /// Applies an event to a task that is idle.
    ///
    /// - Parameters:
    ///   - also: further changes of the task in the same transaction.
    ///   - event: the event to apply in the state that is found; nil applies none.
    func transition(
        _ id: TaskID, _ now: ClockReading, also: (StoreTransaction, inout TaskRecord) throws -> Void,
        _ event: (TaskRecord) -> TaskEvent?
    ) throws -> TaskTransition {
        let before = try required(id)
        guard let event = event(before) else { return (before, before) }
        var after = before
        let entries: [JournalEntry]
        do throws(IllegalTransition) {
            entries = try after.apply(event, now: now)
        } catch {
            // Clients may request any event in any state of the task.
            throw Problem.conflict(error.sentence(about: before))
        }
        for entry in entries { try record(entry) }
        try also(self, &after)
        try update(after)
        if after.request != before.request || after.clientData != before.clientData { try putWishes(after) }
        if after.relaxesAt != before.relaxesAt { try putRules(after) }
        return (before, after)
    }

    /// Applies the owner's change to a task that has not ended.
    func change(_ id: TaskID, _ change: TaskChange, _ now: ClockReading) throws -> TaskRecord {
        var changed = try required(id)
        guard !changed.state.isTerminal else {
            throw Problem.conflict("Transfer \(id) is \(changed.state.rawValue).")
        }
        changed.priority = change.priority ?? changed.priority
        if let limit = change.rateLimit { changed.request.rateLimit = limit == 0 ? nil : limit }
        changed.request.description = change.description ?? changed.request.description
        changed.clientData = change.clientData ?? changed.clientData
        try putWishes(changed)
        try record(JournalEntry(time: now.date, decision: .changed, task: id))
        return changed
    }

    /// Deletes a task that has ended. Returns its record; nil if the row could not be read.
    func remove(_ id: TaskID, _ now: ClockReading) throws -> TaskRecord? {
        var found: TaskRecord?
        do {
            guard let record = try task(id) else { throw Problem.noTask(id) }
            guard record.state.isTerminal else {
                throw Problem.conflict("Transfer \(id) has not ended. Cancel it first.")
            }
            guard try !hasMessages(id) else {
                throw Problem.conflict("The app has not been notified yet that transfer \(id) ended.")
            }
            found = record
        } catch let error as StoreError where error.code == .unreadable {}
        try record(JournalEntry(time: now.date, decision: .removed, task: id))
        try delete(id)
        return found
    }

    /// Deletes messages that an app has handled. Questions stay until they are answered.
    ///
    /// - Returns: the tasks whose ends the app has handled.
    func acknowledge(_ messages: [Int64], of session: SessionID) throws -> [TaskRecord] {
        try messages.compactMap { id in
            // If the message is missing, it was acknowledged earlier.
            guard let row = try messageRow(id, of: session), row.kind?.isQuestion != true else { return nil }
            try deleteMessage(id)
            return row.message.flatMap { $0.kind == .ended ? $0.task : nil }
        }
    }

    /// Deletes some of a session's tasks. If they are the last ones, also deletes the session.
    ///
    /// - Parameters:
    ///   - endless: tasks that are deleted although they have not ended.
    ///   - limit: the number of tasks that are deleted at most.
    /// - Returns: the deleted tasks, and whether the session was deleted; nil if the session has a task that has not
    ///   ended and is not in `endless`.
    func removeTasks(
        of session: SessionID, _ endless: Set<TaskID>, limit: Int
    ) throws -> (records: [TaskRecord], isLast: Bool)? {
        guard try endless.isSuperset(of: unfinishedTasks(session: session)) else { return nil }
        let rows = try rows(session: session, states: nil, after: nil, limit: limit)
        let isLast = rows.count < limit
        if isLast {
            try deleteSession(session)
        } else {
            for task in rows.records.map(\.id) + rows.unreadable.map(\.id) { try delete(task) }
        }
        return (rows.records, isLast)
    }

    /// Ends the wait of a task after a failure, if it has one.
    ///
    /// - Parameter apply: a function that applies the event to the task.
    func endWait(_ id: TaskID, isBusy: Bool, _ apply: (inout TaskRecord) -> [JournalEntry]) throws -> TaskRetry {
        var record = try required(id)
        if let refusal = record.retryRefusal { throw refusal }
        if record.isRetryable { return TaskRetry(record: record, startsAgain: true) }
        // A running task needs no retry, and only its transfer may write the task's row.
        guard record.state == .waiting, !isBusy else { return TaskRetry() }
        guard record.waitsAfterFailure else { return TaskRetry(record: record) }
        for entry in apply(&record) { try self.record(entry) }
        try update(record)
        return TaskRetry(record: record, hasEndedWait: true)
    }
}

/// The effect of a retry on one task.
struct TaskRetry {
    /// The task, if the pauses on the route to its origin end.
    var record: TaskRecord?
    var hasEndedWait = false
    /// Whether the task has failed, and starts again.
    var startsAgain = false
}

/// Returns the result of a change, or the problem for which it was refused. Throws errors of the store.
func outcome<Value>(_ body: () throws -> Value) throws -> Result<Value, Problem> {
    do {
        return .success(try body())
    } catch let problem as Problem {
        return .failure(problem)
    }
}

extension Problem {
    init(_ error: StoreError) {
        self = error.code == .unreadable ? .conflict(error.message) : .unavailable(error.message)
    }

    static func noTask(_ id: TaskID) -> Problem { .notFound("There is no transfer \(id).") }
}

/// Transactions for methods of the API.
extension Store {
    func ask<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(Problem) -> Value {
        do {
            return try await read(body)
        } catch {
            throw Problem(error)
        }
    }

    /// Commits a change. If `body` throws a problem, its earlier writes are still committed.
    func change<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(Problem) -> Value {
        let result: Result<Value, Problem>
        do {
            result = try await write { transaction in try outcome { try body(transaction) } }
        } catch {
            throw Problem(error)
        }
        return try result.get()
    }
}
