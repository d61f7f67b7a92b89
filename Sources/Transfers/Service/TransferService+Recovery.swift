import Foundation
import Glibc
import Logging
import NightshiftAPI
package import Store

/// The steps that run once, when the service starts.
extension TransferService {
    /// Loads the user's settings and records the start of the service. Must be called once, before ``run()`` and before
    /// the first request is answered. Otherwise that request would use other settings, and its journal entry would
    /// precede the start.
    ///
    /// - Throws: ``StoreError`` if the rows cannot be read.
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

    /// Continues the work of the previous run of the service, even if that run crashed or was killed.
    ///
    /// - Throws: ``StoreError`` if the rows cannot be read.
    func recover() async throws(StoreError) {
        try await tellUnreadableSessions()
        try await examineStarts()
        try await settleFinishing()
        try await forgetOldTasks()
        try await removeOrphans()
        try await removeHandledFiles()
        try await removeUnusedCopies()
    }

    /// Reports the sessions that use default settings because their own settings are invalid.
    private func tellUnreadableSessions() async throws(StoreError) {
        let sessions = try await store.read { try $0.unreadableSessions() }
        guard !sessions.isEmpty else { return }
        let words = sessions.map {
            "The settings of session '\($0.id)' are invalid: \($0.reason) The default settings are used."
        }
        for detail in words { logger.error("A row cannot be read", metadata: ["row": "\(detail)"]) }
        try await store.write { [now = now] transaction in
            for detail in words {
                try transaction.record(JournalEntry(time: now.date, decision: .unreadable, detail: detail))
            }
        }
    }

    /// Deletes tasks that ended a month ago, so that the list does not grow without limit. The month is the time that
    /// the service has seen pass, so a wrong wall clock does not cause deletions.
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

    /// Removes files of tasks that ended or were deleted just before a crash.
    private func removeOrphans() async throws(StoreError) {
        let files = partials.ownFiles()
        let (ended, unfinished) = try await store.read { transaction in
            let tasks = Set(files.map(\.task))
            // A task that has not ended may use either of its paths.
            let unfinished = try tasks.filter { id in
                do {
                    return try transaction.task(id)?.state.isTerminal == false
                } catch let error as StoreError where error.code == .unreadable {
                    return true
                }
            }
            return (try transaction.lastEndedTasks(limit: Self.endedJustBefore), unfinished)
        }
        // A partial file next to a destination can be found only through its task.
        let own = ended.filter { fileSystem(of: $0) == nil }
        let elsewhere = ended.filter { fileSystem(of: $0) != nil }
        let beside = own.flatMap(partials.leftovers(of:)).filter { access($0, F_OK) == 0 }
        let orphans = Set(files.filter { !unfinished.contains($0.task) }.map(\.path) + beside)
        // The paths of all unfinished tasks are read only if one of these files may belong to them.
        guard !orphans.isEmpty || !elsewhere.isEmpty else { return }
        let referenced = try await store.read { try $0.partialPaths() }
        for path in orphans.subtracting(referenced) { unlink(path) }
        for record in elsewhere {
            removeSoon(record) { [partials] in
                for path in partials.leftovers(of: record) where !referenced.contains(path) { unlink(path) }
            }
        }
    }

    /// Removes stored files that a crash has left. The app of each file has handled it, or the task of the file no
    /// longer exists.
    private func removeHandledFiles() async throws(StoreError) {
        let folder = environment.paths.files.path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where AnswerFile.isDraft(name) { unlink("\(folder)/\(name)") }
        let tasks = names.compactMap { Int64($0) }.map { TaskID($0) }
        guard !tasks.isEmpty else { return }
        let needed = try await store.read { transaction in
            try Set(
                tasks.filter { id in
                    // The file stays if the row of its task is invalid.
                    guard let record = try? transaction.task(id) else { return try transaction.has(id) }
                    // The task of this upload does not name the response file. The upload will be sent again and will
                    // get another response.
                    if record.kind == .upload, record.file == nil { return false }
                    return try record.app == nil || !record.state.isTerminal || transaction.hasMessages(id)
                })
        }
        for id in tasks where !needed.contains(id) { unlink("\(folder)/\(id)") }
    }

    /// Removes copies of upload files whose tasks ended or were never committed before a crash.
    private func removeUnusedCopies() async throws(StoreError) {
        let copies = sources.older()
        guard !copies.isEmpty else { return }
        let needed = try await store.read { try $0.snapshotPaths() }
        for path in copies.subtracting(needed) { unlink(path) }
    }

    /// Removes the service's files for tasks. Files at their destinations belong to their owners and stay. Returns when
    /// the files on the service's own file system are gone.
    func removeFiles(of records: [TaskRecord]) async {
        let elsewhere = records.filter { fileSystem(of: $0) != nil }
        for record in elsewhere { removeSoon(record) { [self] in removeFiles(of: record) } }
        let own = elsewhere.isEmpty ? records : records.filter { fileSystem(of: $0) == nil }
        await disks.removal.run { [self] in
            for record in own { removeFiles(of: record) }
        }
    }

    private nonisolated func removeFiles(of record: TaskRecord) {
        // A task without bytes has no partial file, or has given it to the task that continues it.
        if record.partial != nil { partials.discardRest(record) }
        if record.state != .completed, let path = record.partial?.path { unlink(path) }
        if let file = record.file, file.hasPrefix(environment.paths.files.path) { unlink(file) }
        sources.remove(record)
    }

    /// The number of ended tasks that are checked after a crash: more than can end in one commit.
    private static let endedJustBefore = 1_000
    /// The retention time of ended tasks, in seconds.
    private static let history: Double = 30 * 86_400
}
