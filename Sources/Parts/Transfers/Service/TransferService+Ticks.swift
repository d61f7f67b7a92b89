import Clock
import Mounts
import NightshiftAPI
import Sessions
import Store

/// Work that is done once a second while transfers run, and commits that are due a while after a start. Apps that read
/// progress get reports four times a second.
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
            if readPaces() { scheduleSoon() }
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

    // MARK: - Late commits

    /// Does work at the times that `next` returns, until it returns nil. Does nothing while this work is under way.
    ///
    /// - Parameter timer: the property with the task that does the work.
    func atTimes(
        _ timer: any WritableKeyPath<Timers, Task<Void, Never>?> & Sendable,
        _ next: @escaping @Sendable (isolated TransferService) -> Double?,
        _ work: @escaping @Sendable (isolated TransferService) async -> Void
    ) {
        guard timers[keyPath: timer] == nil, !isStopping, next(self) != nil else { return }
        timers[keyPath: timer] = Task {
            while !self.isStopping, let time = next(self) {
                guard (try? await self.environment.clock.sleep(untilBootSeconds: time)) != nil else { break }
                await work(self)
            }
            self.timers[keyPath: timer] = nil
        }
    }

    /// Commits attempts that have lasted a while. If the service crashes repeatedly, its next run thus knows which
    /// tasks were tried. Shorter attempts cause no write.
    func noteAttemptsSoon() {
        atTimes(
            \.attemptNotes,
            { $0.active.values.filter { !$0.run.isNoted }.map(\.run.startedAt).min().map { $0 + Self.noteDelay } },
            { await $0.noteAttempts() })
    }

    private func noteAttempts() async {
        let due = active.values.filter { !$0.run.isNoted && $0.run.startedAt + Self.noteDelay <= now.bootSeconds }
        for transfer in due { transfer.run.attemptNoted() }
        guard !due.isEmpty else { return }
        let records = due.map(\.record)
        await commit { try $0.noteAttempts(records) }
        // Progress events show that a transfer runs before its server has answered.
        store.journalSignal.wakeWaiters()
    }

    /// Commits the starts of transfers after a short delay, unless the transfers end earlier. Starts within this delay
    /// share one commit.
    func noteStartsSoon() {
        atTimes(\.startNotes, { $0.active.values.compactMap(\.run.noteDue).min() }, { await $0.noteDueStarts() })
    }

    private func noteDueStarts() async {
        var changes: [(record: TaskRecord, entries: [JournalEntry])] = []
        for transfer in active.values {
            for action in transfer.run.beginningNoted(now) {
                switch action {
                case .note(let record, let entries): changes.append((record, entries))
                case .fault(let fault): report(fault, of: transfer.record.id)
                case .cancel: cancelExchange(transfer)
                default:
                    assertionFailure("Task \(transfer.record.id) requested more than recording its start.")
                }
            }
        }
        guard !changes.isEmpty, !(await save(changes)) else { return }
        for change in changes { interrupt(change.record.id, .wait(.diskSpace)) }
    }

    /// The delay in seconds: longer than a small file takes on a good network, and shorter than any useful run of the
    /// service.
    private static let noteDelay: Double = 0.1

    // MARK: - Checkpoints

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

    /// Syncs a transfer's bytes and commits their count.
    private func checkpoint(_ id: TaskID) async {
        let now = now
        guard let transfer = active[id] else { return }
        switch transfer.exchange {
        case .starting: break
        case .upload(let receiver, _, _):
            // After a crash, the next run can thus detect that a server has lost bytes.
            guard let resource = receiver.upload.resource else { return }
            let sent = receiver.progress
            await send(id) { run, context, _ in run.uploadCheckpoint(resource, sent: sent, context.now) }
        case .download(let receiver, _):
            guard transfer.run.isAccepted, let partial = transfer.record.partial else { return }
            let position = receiver.position.value
            guard transfer.run.isCheckpointDue(new: position - partial.synced, now: now.bootSeconds),
                let isSynced = await files.sync(partial.path, at: transfer.place),
                case .download(let same, _)? = active[id]?.exchange, same === receiver
            else { return }
            await send(id) { run, _, _ in run.checkpointed(isSynced, received: position, synced: position, now) }
        case .segments(let segments): await checkpoint(transfer, segments, now)
        }
    }

    /// Checkpoints a download whose bytes may follow gaps.
    private func checkpoint(_ transfer: ActiveTransfer, _ segments: SegmentedDownload, _ now: ClockReading) async {
        guard transfer.run.isAccepted, segments.conclusion == nil, transfer.run.stopping == nil,
            let path = transfer.record.partial?.path
        else { return }
        let id = transfer.record.id
        await execute(segments.progressed(now.bootSeconds), id)
        let map = segments.scheduler.map
        let new = map.written.count - map.synced.count
        guard active[id]?.segments === segments, transfer.run.isCheckpointDue(new: new, now: now.bootSeconds),
            let isSynced = await files.sync(path, at: transfer.place), active[id]?.segments === segments
        else { return }
        if isSynced { segments.scheduler.synced(map.written) }
        let latest = segments.scheduler.map
        await send(id) { run, _, _ in
            run.checkpointed(
                isSynced, received: latest.count, synced: latest.synced.prefix,
                map: segments.isRecorded ? latest : nil, now)
        }
    }
}
