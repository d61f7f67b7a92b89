import Foundation
import Glibc
package import NightshiftAPI
import Store

/// What the stream of one session carries.
package enum SessionEvent: Hashable, Sendable {
    case message(SessionMessage)
    case progress(TaskProgress)
    /// Every message up to this one that is still kept has been sent: the backlog is through.
    case caughtUp(Int64)
}

extension TransferService {
    /// The session's messages, kept ones first and then as they come, and progress in between.
    ///
    /// One process at a time: another one is refused while the first lives and reads. The same process may begin anew.
    package func messages(
        _ app: AppID, _ identifier: String, process: Int32
    ) async throws(Problem) -> AsyncStream<SessionEvent> {
        let session = SessionID(app: app, identifier: identifier)
        try await requireSession(session)
        try requireFree(session, for: process)
        await appSessions.reader(of: session)?.end()
        let reader = SessionReader(service: self, app: app, session: session, process: process)
        appSessions.put(reader, for: session)
        return AsyncStream(unfolding: { await reader.next() })
    }

    /// The app has handled these messages: they are forgotten, and with them the service's copies of files.
    package nonisolated func acknowledge(
        _ app: AppID, _ identifier: String, _ ids: [Int64]
    ) async throws(Problem) {
        let session = SessionID(app: app, identifier: identifier)
        try await requireSession(session)
        guard ids.count <= Limits.tasksPerRequest else {
            throw .invalid("At most \(Limits.tasksPerRequest) messages at once.", pointer: "/messages")
        }
        let ended = try await change { transaction -> Result<[TaskRecord], Problem> in
            var ended: [TaskRecord] = []
            for id in ids {
                // One that is not there was acknowledged before.
                guard let message = try transaction.message(id, of: session), !message.kind.isQuestion else { continue }
                try transaction.deleteMessage(id)
                if message.kind == .ended { ended.append(message.task) }
            }
            return .success(ended)
        }
        if !ended.isEmpty { await forgetAnswers(session, of: ended.map(\.id)) }
        for record in ended {
            if let file = record.file, file.hasPrefix(environment.paths.files.path) { unlink(file) }
        }
    }

    /// The app has handled the session's messages up to one.
    package nonisolated func acknowledge(
        _ app: AppID, _ identifier: String, through last: Int64
    ) async throws(Problem) {
        let session = SessionID(app: app, identifier: identifier)
        var after: Int64 = 0
        while after < last {
            let ids = try await ask { [after] transaction in
                try transaction.messages(session, after: after, limit: Limits.pageSize).map(\.id)
            }
            guard let end = ids.last else { return }
            try await acknowledge(app, identifier, ids.filter { $0 <= last })
            after = end
        }
    }

    private func forgetAnswers(_ session: SessionID, of tasks: [TaskID]) {
        appSessions.forgetAnswers(tasks, of: session)
    }

    func isListening(_ app: AppID) -> Bool { appSessions.isListening(app) }
}

/// One process's place in the messages of a session.
actor SessionReader {
    nonisolated let process: Int32
    private let service: TransferService
    private let app: AppID
    private let session: SessionID
    private var cursor: Int64 = 0
    private var pending: ArraySlice<SessionEvent> = []
    /// What was said of each task last, so that nothing is said twice.
    private var reported: [TaskID: TaskProgress] = [:]
    private var hasEnded = false
    private var hasCaughtUp = false

    init(service: TransferService, app: AppID, session: SessionID, process: Int32) {
        self.service = service
        self.app = app
        self.session = session
        self.process = process
    }

    /// Another stream takes its place.
    func end() {
        hasEnded = true
        service.store.messageSignal.wakeWaiters()
    }

    func next() async -> SessionEvent? {
        while pending.isEmpty, !isOver {
            let last = service.store.messageSignal.last
            if cursor < last {
                guard await readMessages(upTo: last) else { return nil }
            } else if !hasCaughtUp {
                hasCaughtUp = true
                pending.append(.caughtUp(cursor))
            } else {
                await readProgress()
            }
            guard pending.isEmpty, !isOver else { break }
            if await service.isStopping { return nil }
            await service.store.messageSignal.wait(past: max(cursor, last))
        }
        return isOver ? nil : pending.popFirst()
    }

    private var isOver: Bool { hasEnded || Task.isCancelled }

    private func readMessages(upTo last: Int64) async -> Bool {
        let (cursor, session) = (cursor, session)
        let page = try? await service.store.read { transaction in
            try transaction.messages(session, after: cursor, limit: Self.page)
        }
        guard let page else { return false }
        for stored in page {
            let task = await service.sessionTask(stored.task)
            pending.append(
                .message(SessionMessage(id: stored.id, kind: stored.kind, task: task, challenge: stored.challenge)))
        }
        self.cursor = page.count == Self.page ? page.last?.id ?? last : max(last, page.last?.id ?? 0)
        return true
    }

    private func readProgress() async {
        guard await service.isListening(app) else { return }
        let progress = await service.progress(of: nil, session: session)
        for item in progress where reported[item.id] != item { pending.append(.progress(item)) }
        reported = Dictionary(uniqueKeysWithValues: progress.map { ($0.id, $0) })
    }

    private static let page = 64
}
