package import NightshiftAPI
import Sessions
import Store

/// The journal as an event stream.
extension TransferService {
    /// Returns a stream of the journal, starting at an entry and including new entries as they are written. Progress
    /// reports arrive between the entries.
    package nonisolated func events(_ query: EventQuery) async throws(Problem) -> AsyncStream<ServiceEvent> {
        var cursor = query.lastEventID ?? store.journalSignal.last
        var first: [ServiceEvent] = []
        if let last = query.lastEventID {
            let oldest = try await ask { try $0.firstJournalEntry() }
            // Entries that the reader has not received were deleted, or the reader's last entry belongs to another
            // database.
            if last > store.journalSignal.last || last + 1 < oldest ?? 0 {
                cursor = store.journalSignal.last
                first = [.reset(lastEntry: cursor)]
            }
        }
        let reader = StoredEventReader(journal(query), after: cursor, first: first)
        return AsyncStream(unfolding: { await reader.next() })
    }

    private nonisolated func journal(_ query: EventQuery) -> StoredEventReader<ServiceEvent>.Source {
        // A query with thousands of ids costs more than reading all entries and dropping the unwanted ones.
        let named = query.tasks.flatMap { $0.count <= Self.namedTasks ? $0 : nil }
        return StoredEventReader<ServiceEvent>.Source(
            signal: store.journalSignal, page: 256,
            rows: { after, limit in
                let entries = try? await self.store.read { transaction in
                    try transaction.journal(after: after, tasks: named, session: query.session, limit: limit)
                }
                return entries?.map { entry in
                    let isWanted = query.tasks.map { $0.contains(entry.task ?? TaskID(0)) } ?? true
                    return StoredEventReader.Row(id: entry.id, event: isWanted ? .journal(entry) : nil)
                }
            },
            progress: { query.progress ? await self.progress(of: query.tasks, session: query.session) : nil },
            report: { .progress($0) }, isOver: { await self.isStopping })
    }

    /// The maximum number of tasks that the query names. If the query would name more tasks, the stream filters the
    /// entries itself.
    private static let namedTasks = 32
}
