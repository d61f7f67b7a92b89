package import NightshiftAPI
import Store

extension TransferService {
    /// The journal from an entry on, as it grows, and progress in between.
    ///
    /// Pull-driven: entries are read from the store when the reader asks for them, so that one that stops costs nothing.
    package nonisolated func events(_ query: EventQuery) async throws(Problem) -> AsyncStream<ServiceEvent> {
        let reader = EventReader(service: self, query: query, cursor: query.lastEventID ?? store.journalSignal.last)
        if let last = query.lastEventID {
            let first = try await ask { try $0.firstJournalEntry() }
            // Entries that the reader has not seen are gone, or it knows entries of another database.
            if last > store.journalSignal.last || last + 1 < first ?? 0 { await reader.reset() }
        }
        return AsyncStream(unfolding: { await reader.next() })
    }
}

/// One reader's place in the journal.
private actor EventReader {
    private let service: TransferService
    private let query: EventQuery
    private var cursor: Int64
    private var pending: ArraySlice<ServiceEvent> = []
    /// What was said of each task last, so that nothing is said twice.
    private var reported: [TaskID: TaskProgress] = [:]

    init(service: TransferService, query: EventQuery, cursor: Int64) {
        self.service = service
        self.query = query
        self.cursor = cursor
    }

    func reset() {
        cursor = service.store.journalSignal.last
        pending.append(.reset(lastEntry: cursor))
    }

    func next() async -> ServiceEvent? {
        while pending.isEmpty, !Task.isCancelled {
            let last = service.store.journalSignal.last
            if cursor < last {
                guard await readJournal(upTo: last) else { return nil }
            } else if query.progress {
                await readProgress()
            }
            guard pending.isEmpty, !Task.isCancelled else { break }
            if await service.isStopping { return nil }
            await service.store.journalSignal.wait(past: cursor)
        }
        return Task.isCancelled ? nil : pending.popFirst()
    }

    private func readJournal(upTo last: Int64) async -> Bool {
        let (cursor, query) = (cursor, query)
        // A statement with thousands of ids costs more than the entries it would leave out.
        let named = query.tasks.flatMap { $0.count <= Self.namedTasks ? $0 : nil }
        let page = try? await service.store.read { transaction in
            try transaction.journal(after: cursor, tasks: named, session: query.session, limit: Self.page)
        }
        guard let page else { return false }
        let wanted = page.filter { entry in query.tasks.map { $0.contains(entry.task ?? TaskID(0)) } ?? true }
        pending.append(contentsOf: wanted.map(ServiceEvent.journal))
        // Entries that the query leaves out are past as well.
        self.cursor = page.count == Self.page ? page.last?.id ?? last : max(last, page.last?.id ?? 0)
        return true
    }

    private func readProgress() async {
        let progress = await service.progress(of: query.tasks, session: query.session)
        for item in progress where reported[item.id] != item { pending.append(.progress(item)) }
        reported = Dictionary(uniqueKeysWithValues: progress.map { ($0.id, $0) })
    }

    private static let page = 256
    /// Tasks that are picked out by the database; of more, entries are picked out here.
    private static let namedTasks = 32
}
