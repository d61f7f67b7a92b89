import Clock
import Foundation
package import NightshiftAPI
import Sessions
import Store

/// What clients ask of sessions and of the service.
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

    /// Makes the session or replaces its settings; tasks that are there already keep theirs.
    package func putSession(_ id: SessionID, _ settings: SessionSettings) async throws(Problem) -> SessionStatus {
        try RequestRules.check(id)
        let settings = try RequestRules.accepted(settings)
        try await change { transaction -> Result<Void, Problem> in
            if let obstacle = try transaction.obstacle(toMaking: id) { return .failure(obstacle) }
            try transaction.putSession(id, settings)
            return .success(())
        }
        await pump()
        return try await session(id)
    }

    /// Cancels and forgets all tasks of the session, then the session.
    package func removeSession(_ id: SessionID) async throws(Problem) {
        guard id != .terminal else { throw .conflict("The session 'terminal' stays; remove its tasks instead.") }
        _ = try await session(id)
        claims.hold(id)
        defer { letGo([id]) }
        while true {
            var endless: Set<TaskID> = []
            for task in try await ask({ try $0.unfinishedTasks(session: id) })
            where try await !end(task, producingResumeData: false) {
                endless.insert(task)
            }
            // Who has added one meanwhile was told that it is carried: it is cancelled like the others.
            while let part = try await removePart(of: id, endless) {
                await removeFiles(of: part.records)
                if part.isLast { return }
            }
        }
    }

    /// What one commit has forgotten of a session.
    private struct RemovedPart: Sendable {
        var records: [TaskRecord]
        /// Whether the session is gone, too.
        var isLast: Bool
    }

    /// Forgets some of a session's tasks, or the last ones and the session: it may have a million.
    ///
    /// - Returns: nil where the session has a task that has not ended and is not one of `endless`.
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

    /// Few enough for others' commits not to wait long, and for their rows to be held in memory.
    private static let removedAtOnce = 1_000

    /// Lets tasks of these sessions start again, once everything in them was to end.
    func letGo(_ sessions: [SessionID]) {
        for session in sessions { claims.letGo(session) }
        reporting.yield { await $0.pump() }
    }

    /// Cancels a task, or waits for its end where that has begun.
    ///
    /// - Returns: whether it was cancelled. One that was not has ended, or nothing of it runs: it cannot be read, or waits for its
    ///   file to be put in its place.
    /// - Throws: 503 where the disk has failed: then it goes on.
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
                // One that has just ended needs no cancelling; one that is finishing ends by itself, or can be cancelled then.
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
            try transaction.record(JournalEntry(time: now.date, decision: .settingsChanged))
            return .success((changed, try transaction.order()))
        }
        apply(changed, order)
        await pump()
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
