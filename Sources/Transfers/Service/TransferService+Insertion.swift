import NightshiftAPI
import Sessions
import Store

/// New tasks, from what a request made of them to their rows.
extension TransferService {
    private enum Insertion: Sendable {
        case inserted([TaskID])
        /// Nothing was inserted: the terms were others than those of the records.
        case onOtherTerms(AppTaskTerms)
    }

    /// Inserts tasks on the terms that hold in the transaction that inserts them.
    ///
    /// Where these are no longer the ones that were read before it, all begins anew with the new ones. That takes a step of
    /// the app each time, so it comes to an end.
    nonisolated func insert(
        _ records: [TaskRecord], in session: SessionID, continuing sources: [String: TaskRecord],
        on query: AppTaskTerms.Query?, _ now: ClockReading
    ) async throws(Problem) -> [TaskID] {
        var terms = AppTaskTerms()
        if let query { terms = try await ask { try query($0, now) }.get() }
        while true {
            let records = records.map { $0.on(terms, now) }
            let held = await heldFromTheFirst(records, now)
            let insertion = try await change { [terms] transaction -> Result<Insertion, Problem> in
                let latest = try query?(transaction, now) ?? .success(terms)
                guard latest == .success(terms) else { return latest.map { .onOtherTerms($0) } }
                return try Self.insert(records, session, sources, held, now, transaction).map { .inserted($0) }
            }
            switch insertion {
            case .inserted(let ids): return ids
            case .onOtherTerms(let latest): terms = latest
            }
        }
    }

    /// - Parameter held: what records wait for from the first, by their index.
    private static func insert(
        _ records: [TaskRecord], _ session: SessionID, _ sources: [String: TaskRecord],
        _ held: [(index: Int, entry: JournalEntry)], _ now: ClockReading, _ transaction: StoreTransaction
    ) throws -> Result<[TaskID], Problem> {
        guard try transaction.taskCount() + records.count <= Limits.tasks else {
            return .failure(.tooMany("The service keeps at most \(Limits.tasks) tasks; remove some that have ended."))
        }
        if let obstacle = try transaction.obstacle(toMaking: session) { return .failure(obstacle) }
        if try transaction.sessionSettings(session) == nil { try transaction.putSession(session, SessionSettings()) }
        // Numbers are the app's: the same request may be under way twice.
        for record in records where record.taskIdentifier != 0 {
            guard try transaction.task(record.taskIdentifier, of: session) == nil else {
                return .failure(.conflict("There is a task \(record.taskIdentifier) in the session already."))
            }
        }
        for (token, source) in sources {
            // Two requests may have looked at the same token.
            guard var old = try transaction.task(resumeData: token) else {
                return .failure(.conflict("The resume data of task \(source.id) was used in the meantime."))
            }
            old.resumeData = nil
            old.partial = nil
            old.upload = nil
            if records.contains(where: { $0.uploadSource == old.uploadSource }) { old.uploadSource = nil }
            try transaction.update(old)
        }
        let ids = try records.map { try transaction.insert($0).id }
        if let first = ids.first, let last = ids.last {
            try transaction.record(.accepted(first, through: last, at: now.date))
        }
        for (index, entry) in held {
            var entry = entry
            entry.task = ids[index]
            try transaction.record(entry)
        }
        return .success(ids)
    }
}

extension TaskRecord {
    /// The same on these terms.
    fileprivate func on(_ terms: AppTaskTerms, _ now: ClockReading) -> TaskRecord {
        var record = self
        if terms.isInBackground { record.forceDiscretion() }
        if let until = terms.startsPausedUntil {
            record.notBefore = now.bootSeconds + (until - now.wallSeconds)
            record.wait = StoredWait(reason: .relaunchDelay, since: now.wallSeconds, detail: nil)
        }
        return record
    }
}
