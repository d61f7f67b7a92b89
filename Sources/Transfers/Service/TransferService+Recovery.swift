import Foundation
import Glibc
import Logging
import NightshiftAPI
package import Store

/// What is done once, when the service starts.
extension TransferService {
    /// Takes what the user has set, and notes that the service started. To be called once, before ``run()`` and before
    /// anybody is answered: who comes earlier would see other settings, and his entry would stand before the start.
    ///
    /// - Throws: ``StoreError`` when the rows cannot be read.
    package func prepare() async throws(StoreError) {
        let (limits, order) = try await store.write { [now = now] transaction in
            if try transaction.sessionSettings(.terminal) == nil {
                try transaction.putSession(.terminal, SessionSettings())
            }
            try transaction.deleteEmptyLanes()
            try transaction.record(JournalEntry(time: now.date, decision: .serviceStarted))
            return (try transaction.limits(), try transaction.order())
        }
        apply(limits, order)
    }

    /// Takes up what the last service left, whatever way it ended.
    ///
    /// - Throws: ``StoreError`` when the rows cannot be read.
    func recover() async throws(StoreError) {
        try await tellUnreadableSessions()
        try await examineStarts()
        try await settleFinishing()
        try await forgetOldTasks()
        try await removeOrphans()
        try await removeHandledFiles()
        try await removeUnusedCopies()
    }

    /// Names the sessions for which the defaults hold, because their settings make no sense.
    private func tellUnreadableSessions() async throws(StoreError) {
        let sessions = try await store.read { try $0.unreadableSessions() }
        guard !sessions.isEmpty else { return }
        let words = sessions.map { "The settings of session '\($0.id)': \($0.reason) The defaults hold." }
        for detail in words { logger.error("A row cannot be read", metadata: ["row": "\(detail)"]) }
        try await store.write { [now = now] transaction in
            for detail in words {
                try transaction.record(JournalEntry(time: now.date, decision: .unreadable, detail: detail))
            }
        }
    }

    /// Ended tasks are kept for a month, so that the list does not grow for ever. A month of time that was seen to pass: a
    /// wall clock that is wrong deletes nothing.
    private func forgetOldTasks() async throws(StoreError) {
        while true {
            let old = try await store.read { [now = now] transaction in
                try transaction.forgettableTasks(endedFor: Self.history, now: now, limit: 1_000)
            }
            guard !old.isEmpty else { return }
            try await store.write { transaction in
                for record in old { try transaction.delete(record.id) }
            }
            await removeFiles(of: old)
        }
    }

    /// Removes files that tasks left which ended, or were forgotten, just before a crash.
    private func removeOrphans() async throws(StoreError) {
        let files = partials.ownFiles()
        let (ended, unfinished) = try await store.read { transaction in
            let tasks = Set(files.map(\.task))
            // One that has not ended may use either of its places.
            let unfinished = try tasks.filter { id in
                do {
                    return try transaction.task(id)?.state.isTerminal == false
                } catch let error as StoreError where error.code == .unreadable {
                    return true
                }
            }
            return (try transaction.lastEndedTasks(limit: Self.endedJustBefore), unfinished)
        }
        // What lies beside a destination only its task knows of.
        let own = ended.filter { fileSystem(of: $0) == nil }
        let elsewhere = ended.filter { fileSystem(of: $0) != nil }
        let beside = own.flatMap(partials.leftovers(of:)).filter { access($0, F_OK) == 0 }
        let orphans = Set(files.filter { !unfinished.contains($0.task) }.map(\.path) + beside)
        // The paths of a whole backlog are read only where one of them may be among these.
        guard !orphans.isEmpty || !elsewhere.isEmpty else { return }
        let referenced = try await store.read { try $0.partialPaths() }
        for path in orphans.subtracting(referenced) { unlink(path) }
        for record in elsewhere {
            removeSoon(record) { [partials] in
                for path in partials.leftovers(of: record) where !referenced.contains(path) { unlink(path) }
            }
        }
    }

    /// Removes kept files that a crash has left behind: their apps have handled them, or their tasks are gone.
    private func removeHandledFiles() async throws(StoreError) {
        let folder = environment.paths.files.path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where AnswerFile.isDraft(name) { unlink("\(folder)/\(name)") }
        let tasks = names.compactMap { Int64($0) }.map { TaskID($0) }
        guard !tasks.isEmpty else { return }
        let needed = try await store.read { transaction in
            try Set(
                tasks.filter { id in
                    // One whose row makes no sense keeps its file.
                    guard let record = try? transaction.task(id) else { return try transaction.has(id) }
                    // An answer whose task does not name it: the upload is sent again, and answered again.
                    if record.kind == .upload, record.file == nil { return false }
                    return try record.app == nil || !record.state.isTerminal || transaction.hasMessages(id)
                })
        }
        for id in tasks where !needed.contains(id) { unlink("\(folder)/\(id)") }
    }

    /// Removes copies of files to upload whose tasks ended, or were never written down, before a crash.
    private func removeUnusedCopies() async throws(StoreError) {
        let copies = sources.older()
        guard !copies.isEmpty else { return }
        let needed = try await store.read { try $0.snapshotPaths() }
        for path in copies.subtracting(needed) { unlink(path) }
    }

    /// Removes what the service holds for tasks; a file at its destination is its owner's. Returns when what lies on the service's own
    /// file system is gone.
    func removeFiles(of records: [TaskRecord]) async {
        let elsewhere = records.filter { fileSystem(of: $0) != nil }
        for record in elsewhere { removeSoon(record) { [self] in removeFiles(of: record) } }
        let own = elsewhere.isEmpty ? records : records.filter { fileSystem(of: $0) == nil }
        await disks.removal.run { [self] in
            for record in own { removeFiles(of: record) }
        }
    }

    private nonisolated func removeFiles(of record: TaskRecord) {
        // One without bytes has left none, or has given them to the task that continues it.
        if record.partial != nil { partials.discardRest(record) }
        if record.state != .completed, let path = record.partial?.path { unlink(path) }
        if let file = record.file, file.hasPrefix(environment.paths.files.path) { unlink(file) }
        sources.remove(record)
    }

    /// More than one commit ends at once.
    private static let endedJustBefore = 1_000
    /// Seconds.
    private static let history: Double = 30 * 86_400
}
