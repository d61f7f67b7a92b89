import Clock
import Glibc
import Mounts
import NightshiftAPI
import Sessions
import Store

/// Work that is done once a second while transfers run. Apps that read progress get reports four times a second.
extension TransferService {
    func startTicker() {
        guard timers.ticker == nil, !isStopping else { return }
        timers.ticker = Task { await self.tick() }
    }

    private func tick() async {
        var due = now.bootSeconds + 1
        while !active.isEmpty, !isStopping {
            let isWatched = isWatchedByApp
            let next = min(due, nextProbationEnd ?? .infinity)
            let pulse = isWatched ? now.bootSeconds + Self.appProgressSeconds : .infinity
            guard (try? await environment.clock.sleep(untilBootSeconds: min(next, pulse))) != nil else { break }
            if now.bootSeconds < next {
                store.messageSignal.wakeWaiters()
                continue
            }
            due = now.bootSeconds + 1
            endProbations()
            // The service may give the connection slot of a slow transfer to a task of another origin.
            if readPaces() { reporting.yield { await $0.schedule() } }
            store.journalSignal.wakeWaiters()
            store.messageSignal.wakeWaiters()
            askThreads()
            await noteDueStarts()
            for id in active.keys {
                if active[id]?.place == nil { await checkpoint(id) } else { checkpointElsewhere(id) }
            }
        }
        timers.ticker = nil
        if !active.isEmpty, !isStopping { startTicker() }
    }

    /// Whether a process of a running app reads the progress of a running transfer.
    private var isWatchedByApp: Bool {
        active.values.contains { transfer in
            guard let app = transfer.record.app, appSessions.isListening(app) else { return false }
            return appSessions.reader(of: transfer.record.session) != nil
        }
    }

    /// The number of seconds between two progress reports to an app: few enough for a smooth progress bar. Apple's
    /// systems report at the same rate.
    private static let appProgressSeconds = 0.25

    /// Commits attempts that have lasted a while. If the service crashes repeatedly, its next run thus knows which
    /// tasks were tried. Shorter attempts cause no write.
    func noteAttemptsSoon() {
        guard timers.attemptNotes == nil, !isStopping else { return }
        timers.attemptNotes = Task { await self.noteAttempts() }
    }

    private func noteAttempts() async {
        while !isStopping, let first = active.values.filter({ !$0.isNoted }).map(\.startedAt).min() {
            guard (try? await environment.clock.sleep(untilBootSeconds: first + Self.noteDelay)) != nil else { break }
            let due = active.values.filter { !$0.isNoted && $0.startedAt + Self.noteDelay <= now.bootSeconds }
            for transfer in due { active[transfer.record.id]?.isNoted = true }
            guard !due.isEmpty else { continue }
            do {
                try await store.write { try $0.noteAttempts(due.map(\.record)) }
            } catch {
                storeFailed(error)
            }
            // Progress events show that a transfer runs before its server has answered.
            store.journalSignal.wakeWaiters()
        }
        timers.attemptNotes = nil
    }

    /// Checkpoints a download on another file system in the background, because the sync may take long.
    private func checkpointElsewhere(_ id: TaskID) {
        guard checkpoints.insert(id).inserted else { return }
        reporting.yield { service in
            await service.checkpoint(id)
            await service.checkpointEnded(id)
        }
    }

    private func checkpointEnded(_ id: TaskID) {
        checkpoints.remove(id)
    }

    /// Commits the starts of transfers after a short delay, unless the transfers end earlier. Starts within this delay
    /// share one commit.
    func noteStartsSoon() {
        guard timers.startNotes == nil, !isStopping else { return }
        timers.startNotes = Task { await self.noteStarts() }
    }

    private func noteStarts() async {
        while !isStopping, let due = active.values.compactMap(\.run.noteDue).min() {
            guard (try? await environment.clock.sleep(untilBootSeconds: due)) != nil else { break }
            await noteDueStarts()
        }
        timers.startNotes = nil
    }

    private func noteDueStarts() async {
        var changes: [(record: TaskRecord, entries: [JournalEntry])] = []
        for id in active.keys {
            for action in active[id]?.run.beginningNoted(now) ?? [] {
                switch action {
                case .note(let record, let entries): changes.append((record, entries))
                case .fault(let fault): report(fault, of: id)
                case .cancel: cancelExchange(id)
                default: assertionFailure("Task \(id) requested an action other than recording its start.")
                }
            }
        }
        guard !changes.isEmpty, !(await save(changes)) else { return }
        for change in changes { interrupt(change.record.id, .diskSpace) }
    }

    /// Syncs a download's bytes and commits their count.
    private func checkpoint(_ id: TaskID) async {
        let now = now
        if active[id]?.segments != nil { return await checkpointSegments(id) }
        if case .upload(let receiver, _, _) = active[id]?.exchange { return await checkpointUpload(id, receiver) }
        guard let transfer = active[id], transfer.isAccepted, case .download(let receiver, _) = transfer.exchange,
            let partial = transfer.record.partial
        else { return }
        let position = receiver.position.value
        guard transfer.run.isCheckpointDue(new: position - partial.synced, now: now.bootSeconds) else { return }
        // The code opens the file again and does not duplicate the descriptor, for two reasons. The exchange may close
        // its own descriptor meanwhile. The kernel reports a failed write once to each open file, and the final sync
        // must receive that error, too.
        guard let isSynced = await sync(partial.path, at: transfer.place) else { return }
        guard case .download(let same, _)? = active[id]?.exchange, same === receiver else { return }
        await tell(id) { run, _, _ in run.checkpointed(isSynced, received: position, synced: position, now) }
    }

    /// Checkpoints a download whose bytes may follow gaps.
    private func checkpointSegments(_ id: TaskID) async {
        let now = now
        guard let transfer = active[id], transfer.isAccepted, let segments = transfer.segments,
            segments.conclusion == nil, transfer.stopping == nil, let path = transfer.record.partial?.path
        else { return }
        await execute(
            active[id]?.segments?.scheduler.progressed(segments.positions, now: now.bootSeconds) ?? [], id)
        guard let map = active[id]?.segments?.scheduler.map else { return }
        let new = map.written.count - map.synced.count
        guard transfer.run.isCheckpointDue(new: new, now: now.bootSeconds),
            let isSynced = await sync(path, at: transfer.place),
            active[id]?.segments?.ceiling === segments.ceiling
        else { return }
        if isSynced { active[id]?.segments?.scheduler.synced(map.written) }
        guard let current = active[id]?.segments else { return }
        let latest = current.scheduler.map
        await tell(id) { run, _, _ in
            run.checkpointed(
                isSynced, received: latest.count, synced: latest.synced.prefix, map: current.isRecorded ? latest : nil,
                now)
        }
    }

    /// Returns whether the file's bytes could be synced; nil if the file cannot be opened.
    private func sync(_ path: String, at place: FileSystemKey?) async -> Bool? {
        if let place {
            let isSynced = await fileSystems.run(place, .sync, path) { () -> Bool? in
                let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
                guard file >= 0 else { return nil }
                defer { close(file) }
                return fdatasync(file) == 0
            }
            return isSynced ?? nil
        }
        let own = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard own >= 0 else { return nil }
        return await disks.sync.run {
            defer { close(own) }
            return FileSteps.syncData(own)
        }
    }

    /// The delay in seconds: longer than a small file takes on a good network, and shorter than any useful run of the
    /// service.
    private static let noteDelay: Double = 0.1
}
