import NightshiftAPI
import Sessions
import Store

/// New tasks: the steps from checked requests to rows.
extension TransferService {
    private enum Insertion: Sendable {
        case inserted(EnqueueResponse)
        /// The transaction inserted nothing, because the terms of the records were outdated.
        case onOtherTerms(AppTaskTerms)
    }

    /// Inserts tasks under the terms that hold in the transaction that inserts them.
    ///
    /// If the terms have changed since they were read, the records are made again with the new terms. This loop
    /// ends, because each repetition needs another change of the app's state.
    nonisolated func insert(
        _ records: [TaskRecord], in session: SessionID, continuing sources: [String: TaskRecord],
        on query: AppTaskTerms.Query?, _ now: ClockReading
    ) async throws(Problem) -> EnqueueResponse {
        // This check must come before the transaction, which must not wait for a file system. A running task that
        // creates a file with one of these names does so before it ends.
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

    /// Inserts records in one transaction, with their initial waits.
    ///
    /// - Parameters:
    ///   - held: the initial waits of records, by index.
    ///   - existing: the indices of records whose destination file exists.
    private static func insert(
        _ records: [TaskRecord], _ session: SessionID, _ sources: [String: TaskRecord],
        _ held: [(index: Int, entry: JournalEntry)], _ existing: Set<Int>, _ now: ClockReading,
        _ transaction: StoreTransaction
    ) throws -> Result<EnqueueResponse, Problem> {
        guard try transaction.taskCount() + records.count <= Limits.tasks else {
            return .failure(
                .tooMany("The service stores at most \(Limits.tasks) transfers. Remove some that have ended."))
        }
        if let obstacle = try transaction.obstacle(toMaking: session) { return .failure(obstacle) }
        if try transaction.sessionSettings(session) == nil { try transaction.putSession(session, SessionSettings()) }
        // The app assigns the numbers, and may send the same request twice at the same time.
        for record in records where record.taskIdentifier != 0 {
            guard try transaction.task(record.taskIdentifier, of: session) == nil else {
                return .failure(.conflict("The session already has a task \(record.taskIdentifier)."))
            }
        }
        var joined: [Int: TaskID] = [:]
        switch try joins(records, existing, transaction) {
        case .success(let found): joined = found
        case .failure(let problem): return .failure(problem)
        }
        for (token, source) in sources {
            // Two requests may have read the same token.
            guard var old = try transaction.task(resumeData: token) else {
                return .failure(.conflict("The resume data of transfer \(source.id) was used in the meantime."))
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

    /// Returns the running tasks that records join, by the records' indices. Throws a problem if a name is taken.
    private static func joins(
        _ records: [TaskRecord], _ existing: Set<Int>, _ transaction: StoreTransaction
    ) throws -> Result<[Int: TaskID], Problem> {
        var joined: [Int: TaskID] = [:]
        var paths: Set<String> = []
        for (index, record) in records.enumerated() {
            guard let destination = record.request.destination, destination.isExact, let path = destination.path else {
                guard record.joinURL != nil else { continue }
                // If several requests are equal, each of them still gets its own task.
                let others = try transaction.tasksToJoin(record).filter { !joined.values.contains($0.id) }
                joined[index] = record.joined(among: others)
                continue
            }
            guard paths.insert(path).inserted else {
                return .failure(.conflict("Two transfers of the request have the destination \(path)."))
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
    /// Returns the same record under other terms.
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
