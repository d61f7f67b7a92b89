import Clock
import Foundation
import NightshiftAPI
import Sessions
import Store

/// The acceptance of new tasks: from requests of clients to rows. It runs outside the service's actor, so that a large
/// batch blocks no other request.
struct TaskIntake: Sendable {
    let store: Store
    let files: TransferFiles
    /// A function that returns the initial waits of new tasks that the device state blocks, with the tasks' indices.
    let held: @Sendable ([TaskRecord], ClockReading) async -> [(index: Int, entry: JournalEntry)]

    /// New tasks in the store.
    struct Accepted: Sendable {
        var response: EnqueueResponse
        /// Tasks whose uploads on servers are continued by none of the new tasks.
        var abandoned: [TaskRecord] = []
    }

    /// Accepts all tasks, or none.
    ///
    /// - Parameters:
    ///   - terms: the effect of the app's state on the tasks; nil if no app adds them.
    ///   - complete: a function that adds fields that only the caller knows to the task at an index.
    func add(
        _ tasks: [TaskRequest], to session: SessionID, on terms: AppTaskTerms.Query? = nil,
        complete: @Sendable (Int, inout TaskRecord) -> Void = { _, _ in }
    ) async throws(Problem) -> Accepted {
        guard (1...Limits.tasksPerRequest).contains(tasks.count) else {
            throw .invalid("A request must contain 1 to \(Limits.tasksPerRequest) transfers.", pointer: "/tasks")
        }
        try RequestRules.check(session)
        let tokens = tasks.compactMap(\.resumeData)
        guard Set(tokens).count == tokens.count else {
            throw .invalid("Resume data can be used only once.", pointer: "/tasks")
        }
        let (settings, sources) = try await store.ask { transaction in
            (
                try transaction.sessionSettings(session) ?? SessionSettings(),
                try tokens.reduce(into: [String: TaskRecord]()) { $0[$1] = try transaction.task(resumeData: $1) }
            )
        }
        for task in tasks { try await files.expectSources(of: task) }
        // If a destination is on a file system that does not respond, it is checked when the task starts.
        var silent: Set<String> = []
        let destinations = (tasks + sources.values.map(\.request)).compactMap(\.destination?.directory)
        for directory in Set(destinations) where !(await files.answers(directory)) {
            silent.insert(directory)
        }
        let now = files.clock.now()
        var records: [TaskRecord] = []
        var abandoned: [TaskRecord] = []
        records.reserveCapacity(tasks.count)
        for (index, task) in tasks.enumerated() {
            let pointer = "/tasks/\(index)"
            let source = try task.source(among: sources, pointer)
            let request = task.continuing(source)
            var record = try RequestRules.record(
                request, session: session, settings: settings, now: now, pointer: pointer,
                copies: task.source == nil && task.form == nil ? source : nil,
                looksAtDestination: request.destination.map { !silent.contains($0.directory) } ?? true)
            if let source { record.takeBytes(of: source) }
            if let source, source.request.url != record.request.url {
                record.leaveURL()
                abandoned.append(source)
            }
            complete(index, &record)
            records.append(record)
        }
        let copied = try await files.takeCopies(of: &records)
        do throws(Problem) {
            let response = try await insert(records, session, continuing: sources, on: terms, now)
            return Accepted(response: response, abandoned: abandoned)
        } catch {
            for source in copied { files.sources.remove(source) }
            throw error
        }
    }

    /// Accepts tasks that an app has numbered, except those that exist already.
    ///
    /// - Parameter process: the process whose descriptors the upload sources name.
    func add(
        _ tasks: [SessionTaskRequest], to session: SessionID, by process: Int32, on terms: AppTaskTerms.Query?
    ) async throws(Problem) -> (ids: [TaskID], abandoned: [TaskRecord]) {
        let numbers = tasks.map(\.taskIdentifier)
        var known = try await known(numbers, session)
        let new = tasks.filter { known[$0.taskIdentifier] == nil }
        guard !new.isEmpty else { return (numbers.compactMap { known[$0] }, []) }
        do throws(Problem) {
            let accepted = try await add(new.map { $0.opened(by: process) }, to: session, on: terms) { index, record in
                record.complete(with: new[index])
            }
            known.merge(zip(new.map(\.taskIdentifier), accepted.response.ids)) { old, _ in old }
            return (numbers.compactMap { known[$0] }, accepted.abandoned)
        } catch {
            // The same request may arrive twice at the same time. The other one has then already added these tasks.
            known = try await self.known(numbers, session)
            guard known.count == numbers.count else { throw error }
            return (numbers.compactMap { known[$0] }, [])
        }
    }

    private func known(_ numbers: [Int64], _ session: SessionID) async throws(Problem) -> [Int64: TaskID] {
        try await store.ask { transaction in
            try numbers.reduce(into: [Int64: TaskID]()) { $0[$1] = try transaction.task($1, of: session) }
        }
    }

    /// Inserts tasks under the terms that hold in the transaction that inserts them.
    ///
    /// If the terms have changed since they were read, the records are made again with the new terms. This loop ends,
    /// because each repetition needs another change of the app's state.
    private func insert(
        _ records: [TaskRecord], _ session: SessionID, continuing sources: [String: TaskRecord],
        on query: AppTaskTerms.Query?, _ now: ClockReading
    ) async throws(Problem) -> EnqueueResponse {
        // This check must come before the transaction, which must not wait for a file system. A running task that
        // creates a file with one of these names does so before it ends.
        let existing = Set(
            records.indices.filter { index in
                let record = records[index]
                guard let destination = record.request.destination, destination.isExact,
                    record.folder != nil || files.place(of: record) == nil
                else { return false }
                return destination.path.map(Publisher.isTaken) ?? false
            })
        var terms = AppTaskTerms()
        if let query { terms = try await store.ask { try query($0, now) }.get() }
        while true {
            let records = records.map { $0.on(terms, now) }
            let held = await held(records, now)
            let (response, latest) = try await store.change { [terms] transaction in
                let latest = try query?(transaction, now).get() ?? terms
                guard latest == terms else { return (EnqueueResponse?.none, latest) }
                return (try transaction.insert(records, session, sources, held, existing, now), latest)
            }
            if let response { return response }
            terms = latest
        }
    }
}

extension StoreTransaction {
    /// Inserts records in one transaction, with their initial waits.
    ///
    /// - Parameters:
    ///   - held: the initial waits of records, by index.
    ///   - existing: the indices of records whose destination file exists.
    fileprivate func insert(
        _ records: [TaskRecord], _ session: SessionID, _ sources: [String: TaskRecord],
        _ held: [(index: Int, entry: JournalEntry)], _ existing: Set<Int>, _ now: ClockReading
    ) throws -> EnqueueResponse {
        guard try taskCount() + records.count <= Limits.tasks else {
            throw Problem.tooMany("The service stores at most \(Limits.tasks) transfers. Remove some that have ended.")
        }
        if let obstacle = try obstacle(toMaking: session) { throw obstacle }
        if try sessionSettings(session) == nil { try putSession(session, SessionSettings()) }
        // The app assigns the numbers, and may send the same request twice at the same time.
        for record in records where record.taskIdentifier != 0 {
            guard try task(record.taskIdentifier, of: session) == nil else {
                throw Problem.conflict("The session already has a task \(record.taskIdentifier).")
            }
        }
        let joined = try joins(records, existing)
        for (token, source) in sources {
            // Two requests may have read the same token.
            guard var old = try task(resumeData: token) else {
                throw Problem.conflict("The resume data of transfer \(source.id) was used in the meantime.")
            }
            old.resumeData = nil
            old.partial = nil
            old.upload = nil
            if records.contains(where: { $0.uploadSource == old.uploadSource }) { old.uploadSource = nil }
            try update(old)
        }
        let ids = try records.enumerated().map { index, record in try joined[index] ?? insert(record).id }
        let new = ids.indices.filter { joined[$0] == nil }.map { ids[$0] }
        if let first = new.first, let last = new.last { try record(.accepted(first, through: last, at: now.date)) }
        for (index, entry) in held where joined[index] == nil {
            var entry = entry
            entry.task = ids[index]
            try record(entry)
        }
        return EnqueueResponse(ids: ids, joined: joined.sorted { $0.key < $1.key }.map(\.value))
    }

    /// Returns the running tasks that records join, by the records' indices. Throws a problem if a name is taken.
    private func joins(_ records: [TaskRecord], _ existing: Set<Int>) throws -> [Int: TaskID] {
        var joined: [Int: TaskID] = [:]
        var paths: Set<String> = []
        for (index, record) in records.enumerated() {
            guard let destination = record.request.destination, destination.isExact, let path = destination.path else {
                guard record.joinURL != nil else { continue }
                // If several requests are equal, each of them still gets its own task.
                let others = try tasksToJoin(record).filter { !joined.values.contains($0.id) }
                joined[index] = record.joined(among: others)
                continue
            }
            guard paths.insert(path).inserted else {
                throw Problem.conflict("Two transfers of the request have the destination \(path).")
            }
            switch NameClaim.of(record, against: try unfinishedTask(to: path), isThere: existing.contains(index)) {
            case .free: break
            case .joins(let id): joined[index] = id
            case .refused(let sentence): throw Problem.conflict(sentence)
            }
        }
        return joined
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

    /// Takes over the bytes of a cancelled or failed task.
    fileprivate mutating func takeBytes(of source: TaskRecord) {
        partial = source.partial
        received = source.received
        upload = source.upload
        sent = source.upload?.offset ?? 0
        continues = true
    }

    /// Adds the fields that only an app's own tasks have.
    fileprivate mutating func complete(with task: SessionTaskRequest) {
        if task.sourceDescriptor != nil {
            // The copy is made from the descriptor that the process has open, but displayed messages contain the name
            // of the file.
            uploadSource = sentFiles
            request.source = task.request.source
        }
        taskIdentifier = task.taskIdentifier
        clientData = task.clientData
        if task.asksBeforeBeginning ?? false, let date = task.request.earliestBeginDate {
            // A begin date that passed while the request was being sent counts as reached, so the app is asked at once.
            beginAt = date.timeIntervalSince1970
            asksFirst = true
        }
    }
}
