import Foundation
import Logging
package import NightshiftAPI
import Scheduler
import Sessions
import Store

/// Requests that add, list and remove tasks.
extension TransferService {
    /// Accepts all tasks of the request, or none.
    package nonisolated func enqueue(_ request: EnqueueRequest) async throws(Problem) -> [TaskID] {
        try await accept(request).ids
    }

    /// Accepts tasks like ``enqueue(_:)``, but also returns the tasks that existed before.
    package nonisolated func accept(_ request: EnqueueRequest) async throws(Problem) -> EnqueueResponse {
        var session = request.session ?? .terminal
        if let app = request.app {
            guard let name = request.session?.rawValue, !name.isEmpty else {
                throw .invalid("A transfer of an app requires a session of that app.", pointer: "/session")
            }
            session = SessionID(app: app, identifier: name)
            if try await store.ask({ [session] in try $0.sessionSettings(session) }) == nil {
                _ = try await attach(app, name, SessionSettings())
            } else {
                // Another client may have used the session's name before. The session's app will then be woken for
                // that client's tasks as well.
                try await store.change { try $0.claimSession(app, name) }
            }
        }
        let accepted = try await intake.add(request.tasks, to: session)
        await added(replacing: accepted.abandoned)
        return accepted.response
    }

    /// Starts new tasks, and abandons uploads that they replace.
    func added(replacing abandoned: [TaskRecord]) async {
        for source in abandoned { abandonUpload(source) }
        await schedule()
    }

    package nonisolated func task(_ id: TaskID) async throws(Problem) -> TaskStatus {
        await status(of: try await record(id))
    }

    /// Returns the record of a task that a client has named.
    nonisolated func record(_ id: TaskID) async throws(Problem) -> TaskRecord {
        guard let record = try await store.ask({ try $0.task(id) }) else { throw .noTask(id) }
        return record
    }

    package nonisolated func tasks(_ query: TaskQuery) async throws(Problem) -> TaskPage {
        // In the store, a running task has the state 'waiting'.
        let states = query.states.map { $0.contains(.running) ? $0.subtracting([.running]).union([.waiting]) : $0 }
        let page = try await page(after: query.after, limit: query.limit) { transaction, after, limit in
            try transaction.rows(ids: query.tasks, session: query.session, states: states, after: after, limit: limit)
        } item: { record in
            let status = await self.status(of: record)
            return query.states?.contains(status.state) ?? true ? (status, status.textBytes) : nil
        }
        return TaskPage(tasks: page.items, unreadable: page.unreadable, next: page.next)
    }

    /// Reads the rows of tasks for a page of a list, until the page is full.
    ///
    /// - Parameter item: a function that returns the item for a task, with its size in bytes; nil to omit the task.
    nonisolated func page<Item: Sendable>(
        after start: TaskID?, limit: Int,
        rows read: @escaping @Sendable (StoreTransaction, TaskID?, Int) throws -> TaskRows,
        item: @Sendable (TaskRecord) async -> (Item, bytes: Int)?
    ) async throws(Problem) -> (items: [Item], unreadable: [UnreadableTask], next: TaskID?) {
        let limit = max(1, min(limit, Limits.pageSize))
        var items: [Item] = []
        var unreadable: [UnreadableTask] = []
        var after = start
        var bytes = 0
        while items.count < limit {
            let wanted = min(limit - items.count, Self.rowsAtOnce)
            let rows = try await store.ask { [after] in try read($0, after, wanted) }
            for record in rows.records {
                guard let (next, size) = await item(record) else { continue }
                items.append(next)
                bytes += size
                guard bytes >= Limits.pageBytes else { continue }
                return (items, unreadable + rows.unreadable.filter { $0.id < record.id }, record.id)
            }
            unreadable += rows.unreadable
            after = rows.last
            if rows.count < wanted { return (items, unreadable, nil) }
        }
        return (items, unreadable, after)
    }

    /// The number of rows that are read at the same time for a page. If rows do not fit into the page, they were read
    /// unnecessarily.
    private static let rowsAtOnce = 100

    /// Deletes a task that has ended, with its resume data and all files that the service stores for it.
    package func remove(_ id: TaskID) async throws(Problem) {
        for (_, outcome) in try await remove(each: [id]) { _ = try outcome.get() }
    }

    /// Deletes tasks that have ended. Returns when their remains on this machine are gone.
    func remove(each ids: [TaskID]) async throws(Problem) -> [TaskOutcome<TaskRecord?>] {
        let now = now
        let outcomes: [TaskOutcome<TaskRecord?>] = try await store.change { transaction in
            try ids.map { id in (id, try outcome { try transaction.remove(id, now) }) }
        }
        let records = outcomes.compactMap { _, outcome in try? outcome.get() }
        await files.remove(of: records)
        for record in records { abandonUpload(record) }
        return outcomes
    }

    /// Returns the absolute path of the file that the service stores for a task: the file of a download without
    /// destination, or the response body of an upload.
    package nonisolated func keptFile(_ id: TaskID) async throws(Problem) -> String {
        let record = try await record(id)
        guard record.state.isTerminal else { throw .conflict("Transfer \(id) has not ended yet.") }
        guard let file = files.keptFile(of: record) else {
            throw .notFound(
                record.file.map { "The service does not store the bytes of transfer \(id). They are in \($0)." }
                    ?? "The service stores no bytes of transfer \(id).")
        }
        return file
    }
}
