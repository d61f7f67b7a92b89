import Foundation
import Glibc
import Logging
package import NightshiftAPI
package import Sessions
import Store

/// Streams of journal entries and of messages for apps. Messages are deleted when the app has handled them.
extension TransferService {
    // MARK: - Journal

    /// Returns a stream of the journal, starting at an entry and including new entries as they are written. Progress
    /// reports arrive between the entries.
    package nonisolated func events(_ query: EventQuery) async throws(Problem) -> AsyncStream<ServiceEvent> {
        var cursor = query.lastEventID ?? store.journalSignal.last
        var first: [ServiceEvent] = []
        if let last = query.lastEventID {
            let oldest = try await store.ask { try $0.firstJournalEntry() }
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

    // MARK: - Messages

    /// Returns the session's messages, stored ones first and then new ones, with progress in between.
    ///
    /// Only one process reads at a time. Another process is refused while the first process lives and reads. The same
    /// process may start again.
    package func messages(
        _ app: AppID, _ identifier: String, process: Int32
    ) async throws(Problem) -> AsyncStream<SessionEvent> {
        let session = SessionID(app: app, identifier: identifier)
        try await requireSession(session)
        try requireFree(session, for: process)
        let former = appSessions.reader(of: session)
        let reader = StoredEventReader(messages(of: session, app), after: 0)
        // Between the check and this line, no other code of the actor runs. If two readers arrive at the same time, the
        // second therefore finds the first.
        appSessions.put(reader, of: process, for: session)
        await former?.end()
        return AsyncStream(unfolding: { await reader.next() })
    }

    private nonisolated func messages(of session: SessionID, _ app: AppID) -> StoredEventReader<SessionEvent>.Source {
        StoredEventReader<SessionEvent>.Source(
            signal: store.messageSignal, page: 64,
            rows: { after, limit in
                let stored = try? await self.store.read { try $0.messageRows(session, after: after, limit: limit) }
                guard let stored else { return nil }
                var rows: [StoredEventReader<SessionEvent>.Row] = []
                for row in stored {
                    guard let message = row.message else {
                        self.logger.error("A message cannot be read", metadata: ["message": "\(row.id)"])
                        rows.append(StoredEventReader.Row(id: row.id, event: nil))
                        continue
                    }
                    let told = SessionMessage(
                        id: message.id, kind: message.kind, task: await self.sessionTask(message.task),
                        challenge: message.challenge)
                    rows.append(StoredEventReader.Row(id: message.id, event: .message(told)))
                }
                return rows
            },
            caughtUp: { .caughtUp($0) },
            progress: {
                guard await self.appSessions.isListening(app) else { return nil }
                return await self.progress(of: nil, session: session)
            },
            report: { .progress($0) }, isOver: { await self.isStopping })
    }

    /// Deletes the messages that the app has handled, together with the service's copies of files.
    package nonisolated func acknowledge(
        _ app: AppID, _ identifier: String, _ ids: [Int64]
    ) async throws(Problem) {
        let session = SessionID(app: app, identifier: identifier)
        try await requireSession(session)
        guard ids.count <= Limits.tasksPerRequest else {
            throw .invalid("A request can name at most \(Limits.tasksPerRequest) messages.", pointer: "/messages")
        }
        let ended = try await store.change { try $0.acknowledge(ids, of: session) }
        if !ended.isEmpty { await forgetAnswers(session, of: ended.map(\.id)) }
        for record in ended { files.removeKept(of: record) }
    }

    /// Deletes the session's messages up to one that the app has handled.
    package nonisolated func acknowledge(
        _ app: AppID, _ identifier: String, through last: Int64
    ) async throws(Problem) {
        let session = SessionID(app: app, identifier: identifier)
        var after: Int64 = 0
        while after < last {
            let ids = try await store.ask { [after] transaction in
                try transaction.messageRows(session, after: after, limit: Limits.pageSize).map(\.id)
            }
            guard let end = ids.last else { return }
            try await acknowledge(app, identifier, ids.filter { $0 <= last })
            after = end
        }
    }

    private func forgetAnswers(_ session: SessionID, of tasks: [TaskID]) {
        appSessions.forgetAnswers(tasks, of: session)
    }
}
