import Clock
import Foundation
package import NightshiftAPI
import Sessions
import Store

/// Requests about sessions and the service.
extension TransferService {
    package nonisolated func sessions() async throws(Problem) -> [SessionStatus] {
        try await ask { try $0.sessions() }.map(\.withoutSecrets)
    }

    package nonisolated func session(_ id: SessionID) async throws(Problem) -> SessionStatus {
        guard let session = try await ask({ try $0.sessions(id).first }) else {
            throw .noSession(id)
        }
        return session.withoutSecrets
    }

    /// Creates the session or replaces its settings. Existing tasks keep their settings.
    package func putSession(_ id: SessionID, _ settings: SessionSettings) async throws(Problem) -> SessionStatus {
        try RequestRules.check(id)
        let settings = try RequestRules.accepted(settings)
        try await change { transaction -> Result<Void, Problem> in
            if let obstacle = try transaction.obstacle(toMaking: id) { return .failure(obstacle) }
            try transaction.putSession(id, settings)
            return .success(())
        }
        await schedule()
        return try await session(id)
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
            for task in try await ask({ try $0.unfinishedTasks(session: id) })
            where try await !end(task, producingResumeData: false) {
                endless.insert(task)
            }
            // The client that added a task meanwhile got a successful answer, so this task is cancelled like the
            // others.
            while let part = try await removePart(of: id, endless) {
                await removeFiles(of: part.records)
                if part.isLast { return }
            }
        }
    }

    /// The tasks of a session that one commit has deleted.
    private struct RemovedPart: Sendable {
        var records: [TaskRecord]
        /// Whether the same commit deleted the session.
        var isLast: Bool
    }

    /// Deletes some of a session's tasks, because a session may have a million tasks. If the deleted tasks are the last
    /// ones, also deletes the session.
    ///
    /// - Returns: nil if the session has a task that has not ended and is not in `endless`.
    private func removePart(of id: SessionID, _ endless: Set<TaskID>) async throws(Problem) -> RemovedPart? {
        try await change { transaction -> Result<RemovedPart?, Problem> in
            guard try endless.isSuperset(of: transaction.unfinishedTasks(session: id)) else { return .success(nil) }
            let rows = try transaction.rows(session: id, states: nil, after: nil, limit: Self.removedAtOnce)
            let part = RemovedPart(records: rows.records, isLast: rows.count < Self.removedAtOnce)
            if part.isLast {
                try transaction.deleteSession(id)
            } else {
                for task in rows.records.map(\.id) + rows.unreadable.map(\.id) { try transaction.delete(task) }
            }
            return .success(part)
        }
    }

    /// The number of tasks that are removed in one commit. It is small enough that other commits do not wait long, and
    /// that the rows fit in memory.
    private static let removedAtOnce = 1_000

    /// Allows tasks of these sessions to start again, after their existing tasks had to end.
    func letGo(_ sessions: [SessionID]) {
        for session in sessions { claims.letGo(session) }
        reporting.yield { await $0.schedule() }
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
                _ = try await cancel(task, producingResumeData: producingResumeData, because: failure)
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

    package func settings() async throws(Problem) -> ServiceSettings {
        bounds.limits.settings
    }

    package func change(_ settings: ServiceSettings) async throws(Problem) -> ServiceSettings {
        try RequestRules.check(settings)
        let now = now
        let (changed, order) = try await change { transaction -> Result<(ServiceLimits, Int64), Problem> in
            let changed = try transaction.limits().changed(by: settings)
            try transaction.put(rateLimit: changed.rateLimit, maximumTransfers: changed.maximumTransfers)
            try transaction.record(
                JournalEntry(time: now.date, decision: .settingsChanged, detail: changed.sentence))
            return .success((changed, try transaction.order()))
        }
        apply(changed, order)
        await schedule()
        return changed.settings
    }
}

extension TransferService {
    func apply(_ limits: ServiceLimits, _ order: Int64) {
        bounds.take(limits, order)
        environment.transport.setRateLimit(bounds.limits.rateLimit)
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
