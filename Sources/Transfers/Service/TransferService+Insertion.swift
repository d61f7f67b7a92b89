import NightshiftAPI
import Sessions
import Store

/// New tasks, from what a request made of them to their rows.
extension TransferService {
    private enum Insertion: Sendable {
        case inserted(EnqueueResponse)
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
    ) async throws(Problem) -> EnqueueResponse {
        // Before the transaction, which waits for no file system. A task that is under way now gives its file the name before it ends.
        let existing = Set(
            records.indices.filter { index in
                let record = records[index]
                guard let destination = record.request.destination, destination.isExact,
                    record.folder != nil || fileSystem(of: record) == nil
                else { return false }
                return destination.path.map(Publisher.isTaken) ?? false
            })
        var terms = AppTaskTerms()
        if let query { terms = try await ask { try query($0, now) }.get() }
        while true {
            let records = records.map { $0.on(terms, now) }
            let held = await heldFromTheFirst(records, now)
            let insertion = try await change { [terms] transaction -> Result<Insertion, Problem> in
                let latest = try query?(transaction, now) ?? .success(terms)
                guard latest == .success(terms) else { return latest.map { .onOtherTerms($0) } }
                return try Self.insert(records, session, sources, held, existing, now, transaction).map {
                    .inserted($0)
                }
            }
            switch insertion {
            case .inserted(let accepted): return accepted
            case .onOtherTerms(let latest): terms = latest
            }
        }
    }

    /// - Parameters:
    ///   - held: what records wait for from the first, by their index.
    ///   - existing: the indices of records whose file exists.
    private static func insert(
        _ records: [TaskRecord], _ session: SessionID, _ sources: [String: TaskRecord],
        _ held: [(index: Int, entry: JournalEntry)], _ existing: Set<Int>, _ now: ClockReading,
        _ transaction: StoreTransaction
    ) throws -> Result<EnqueueResponse, Problem> {
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
        var joined: [Int: TaskID] = [:]
        switch try joins(records, existing, transaction) {
        case .success(let found): joined = found
        case .failure(let problem): return .failure(problem)
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
        var ids: [TaskID] = []
        var new: [TaskID] = []
        for (index, record) in records.enumerated() {
            if let id = joined[index] {
                ids.append(id)
            } else {
                let id = try transaction.insert(record).id
                ids.append(id)
                new.append(id)
            }
        }
        if let first = new.first, let last = new.last {
            try transaction.record(.accepted(first, through: last, at: now.date))
        }
        for (index, entry) in held where joined[index] == nil {
            var entry = entry
            entry.task = ids[index]
            try transaction.record(entry)
        }
        return .success(EnqueueResponse(ids: ids, joined: joined.sorted { $0.key < $1.key }.map(\.value)))
    }

    /// The tasks under way that records are joined to, by the records' indices; a problem where a name is taken.
    private static func joins(
        _ records: [TaskRecord], _ existing: Set<Int>, _ transaction: StoreTransaction
    ) throws -> Result<[Int: TaskID], Problem> {
        var joined: [Int: TaskID] = [:]
        var paths: Set<String> = []
        for (index, record) in records.enumerated() {
            guard let destination = record.request.destination, destination.isExact, let path = destination.path else {
                guard record.joinURL != nil else { continue }
                // Each of several equal requests has a task of its own.
                let others = try transaction.tasksToJoin(record).filter { !joined.values.contains($0.id) }
                joined[index] = record.joined(among: others)
                continue
            }
            guard paths.insert(path).inserted else {
                return .failure(.conflict("Two tasks of the request are for \(path)."))
            }
            let other = try transaction.unfinishedTask(to: path)
            switch NameClaim.of(record, against: other, isThere: existing.contains(index)) {
            case .free: break
            case .joins(let id): joined[index] = id
            case .refused(let sentence): return .failure(.conflict(sentence))
            }
        }
        return .success(joined)
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
