import Clock
import Executors
import Foundation
import Glibc
import Mounts
import NightshiftAPI
import Store

/// The files of transfers: the locations of their bytes, the code that works on the files, and the log of running work.
///
/// Files may be on file systems that do not respond. Work on the service's own file system runs on the caller's thread
/// or on a queue; each other file system has its own threads.
struct TransferFiles: Sendable {
    let partials: PartialStorage
    let sources: SourceCopies
    let publisher: Publisher
    let disks = Disks()
    let systems: FileSystems
    /// The log of running work, for the next run of the service after a crash.
    let starts: StartLog
    let clock: any ServiceClock
    /// The folder of the files that the service stores.
    let kept: String

    /// Creates the objects that work on files. They share the service's folders.
    ///
    /// - Parameters:
    ///   - run: an identifier that distinguishes this run's copies from those of earlier runs.
    ///   - mode: the mode of finished files.
    ///   - systems: the file systems other than the service's own.
    init(paths: ServicePaths, run: String, mode: UInt32, clock: any ServiceClock, systems: FileSystems) {
        self.systems = systems
        self.clock = clock
        kept = paths.files.path
        starts = StartLog(path: paths.starts.path, bootID: clock.now().bootID)
        partials = PartialStorage(paths: paths)
        sources = SourceCopies(paths: paths, run: run)
        publisher = Publisher(paths: paths, partials: partials, mode: mode)
    }

    // MARK: - Calls

    /// Returns the file system of a task's files; nil for the service's own file system.
    func place(of record: TaskRecord) -> FileSystemKey? {
        // A partial file is never a link, so the lookup uses its folder, which many files share.
        let paths =
            record.kind == .upload
            ? record.sentFiles?.files.map(\.path) ?? []
            : [
                record.request.destination?.directory,
                record.partial.map { ($0.path as NSString).deletingLastPathComponent },
            ].compactMap(\.self)
        for path in paths {
            if let place = systems.place(of: path) { return place }
        }
        return nil
    }

    /// Runs `body` on the thread for the file system. For the service's own file system, runs it on `queue`, or without
    /// a queue at once on the calling thread.
    ///
    /// - Returns: nil if the service stops before another file system responds.
    @discardableResult
    func run<Value: Sendable>(
        at place: FileSystemKey?, _ work: FileSystems.Work, _ path: @autoclosure () -> String,
        on queue: WorkQueue? = nil, _ body: @escaping @Sendable () -> Value,
        late: @escaping @Sendable (Value) -> Void = { _ in }
    ) async -> Value? {
        if let place { return await systems.run(place, work, path(), body, late: late) }
        return if let queue { await queue.run(body) } else { body() }
    }

    /// Closes a file and returns at once. Some file systems write data when a file is closed.
    func close(_ file: Int32?, at place: FileSystemKey?) {
        guard let file, file >= 0 else { return }
        guard let place else {
            Glibc.close(file)
            return
        }
        systems.post(place, .files, path(of: file)) { Glibc.close(file) }
    }

    /// Returns the path of an open file, for display. The kernel returns the path without accessing the file system.
    private func path(of file: Int32) -> String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)")) ?? "an open file"
    }

    /// Returns whether the bytes of the file at `path` could be synced; nil if the file cannot be opened.
    ///
    /// The code opens the file again and does not duplicate the descriptor, for two reasons. The exchange may close its
    /// own descriptor meanwhile. The kernel reports a failed write once to each open file, and the final sync must
    /// receive that error, too.
    func sync(_ path: String, at place: FileSystemKey?) async -> Bool? {
        guard let place else {
            let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard file >= 0 else { return nil }
            return await disks.sync.run {
                defer { Glibc.close(file) }
                return FileSteps.syncData(file)
            }
        }
        let isSynced = await systems.run(place, .sync, path) { () -> Bool? in
            let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard file >= 0 else { return nil }
            defer { Glibc.close(file) }
            return fdatasync(file) == 0
        }
        return isSynced ?? nil
    }

    /// Syncs and closes a file. Returns whether its bytes are on disk; nil without a file.
    func syncAndClose(_ file: Int32?, at place: FileSystemKey?) async -> Bool? {
        guard let file else { return nil }
        return await run(at: place, .sync, path(of: file), on: disks.sync) {
            defer { Glibc.close(file) }
            return FileSteps.syncData(file)
        }
    }

    /// Truncates and closes a file. Returns whether it was truncated.
    func cutAndClose(_ file: Int32?, to length: Int64, at place: FileSystemKey?) async -> Bool {
        guard let file else { return false }
        let isCut = await run(at: place, .files, path(of: file)) {
            defer { Glibc.close(file) }
            return PartialStorage.cut(file, to: length)
        }
        return isCut ?? false
    }

    // MARK: - Removal

    /// Removes files. Returns at once if the files may be on another file system.
    private func removeSoon(_ record: TaskRecord, _ body: @escaping @Sendable () -> Void) {
        guard let place = place(of: record) else { return body() }
        systems.post(place, .files, record.partial?.path ?? record.request.destination?.directory ?? "", body)
    }

    /// Removes the bytes of an ended task that will not be resumed.
    func discard(_ record: TaskRecord) {
        removeSoon(record) { partials.discard(record) }
        sources.remove(record)
    }

    /// Removes the bytes of many tasks without blocking the caller. Returns when the bytes on the service's own file
    /// system are gone.
    func discard(_ records: [TaskRecord]) async {
        let own = records.filter { place(of: $0) == nil }
        for record in records where place(of: record) != nil { discard(record) }
        await disks.removal.run { for record in own { discard(record) } }
    }

    /// Removes the service's files for tasks. Files at their destinations belong to their owners and stay. Returns when
    /// the files on the service's own file system are gone.
    func remove(of records: [TaskRecord]) async {
        let elsewhere = records.filter { place(of: $0) != nil }
        for record in elsewhere { removeSoon(record) { remove(of: record) } }
        let own = elsewhere.isEmpty ? records : records.filter { place(of: $0) == nil }
        await disks.removal.run { for record in own { remove(of: record) } }
    }

    private func remove(of record: TaskRecord) {
        // A task without bytes has no partial file, or has given it to the task that continues it.
        if record.partial != nil { partials.discardRest(record) }
        if record.state != .completed, let path = record.partial?.path { unlink(path) }
        removeKept(of: record)
        sources.remove(record)
    }

    /// Removes the file that the service stores for a task.
    func removeKept(of record: TaskRecord) {
        if let file = keptFile(of: record) { unlink(file) }
    }

    /// Returns the path of the file that the service stores for a task.
    func keptFile(of record: TaskRecord) -> String? { record.file.flatMap { $0.hasPrefix(kept) ? $0 : nil } }

    // MARK: - Remains of a crash

    /// Removes files of tasks that ended or were deleted just before a crash.
    func removeOrphans(_ store: Store) async throws(StoreError) {
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
        let own = ended.filter { place(of: $0) == nil }
        let elsewhere = ended.filter { place(of: $0) != nil }
        let beside = own.flatMap(partials.leftovers(of:)).filter { access($0, F_OK) == 0 }
        let orphans = Set(files.filter { !unfinished.contains($0.task) }.map(\.path) + beside)
        // The paths of all unfinished tasks are read only if one of these files may belong to them.
        guard !orphans.isEmpty || !elsewhere.isEmpty else { return }
        let referenced = try await store.read { try $0.partialPaths() }
        for path in orphans.subtracting(referenced) { unlink(path) }
        for record in elsewhere {
            removeSoon(record) {
                for path in partials.leftovers(of: record) where !referenced.contains(path) { unlink(path) }
            }
        }
    }

    /// Removes stored files that a crash has left. The app of each file has handled it, or the task of the file no
    /// longer exists.
    func removeHandledFiles(_ store: Store) async throws(StoreError) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: kept)) ?? []
        for name in names where AnswerFile.isDraft(name) { unlink("\(kept)/\(name)") }
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
        for id in tasks where !needed.contains(id) { unlink("\(kept)/\(id)") }
    }

    /// Removes copies of upload files whose tasks ended or were never committed before a crash.
    func removeUnusedCopies(_ store: Store) async throws(StoreError) {
        let copies = sources.older()
        guard !copies.isEmpty else { return }
        let needed = try await store.read { try $0.snapshotPaths() }
        for path in copies.subtracting(needed) { unlink(path) }
    }

    /// The number of ended tasks that are checked after a crash: more than can end in one commit.
    private static let endedJustBefore = 1_000
}
