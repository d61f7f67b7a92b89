import Clock
import Logging
import Mounts
import NightshiftAPI
import Store

/// The steps from the last byte to the published file, for many files at the same time. This code executes the actions
/// of each ``FinishRun`` and sends it the results. The ``FinishRun`` makes all decisions.
extension TransferService {
    /// Takes over a download whose bytes are all in `descriptor`. Other tasks may use its connection from now on.
    func finish(_ transfer: ActiveTransfer, _ descriptor: Int32, _ entries: [JournalEntry]) async {
        let run = FinishRun(
            record: transfer.record, entries: entries,
            wasContinued: transfer.run.startCount > 0 || transfer.run.wasDivided)
        await finish(Publisher.Job(run: run, descriptor: descriptor, place: transfer.place))
    }

    private func finish(_ job: Publisher.Job) async {
        finishing.begin(job.record.id, at: job.place)
        active[job.record.id] = nil
        guard job.place != nil else { return await arrived(job) }
        reporting.yield { await $0.arrived(job) }
        await schedule()
    }

    private func arrived(_ job: Publisher.Job) async {
        guard let step = await files.arrived(job) else { return }
        await execute([step])
        // The connection is free, although the disk still has work to do for this file.
        await schedule()
    }

    // MARK: - Executing actions

    /// Executes the actions for each file in their order, and then the actions that their results request. Writes for
    /// several files share one commit.
    ///
    /// - Returns: the files that are ready to get their names.
    @discardableResult
    private func execute(_ wanted: [FinishStep]) async -> [Publisher.Prepared] {
        var ready: [Publisher.Prepared] = []
        var steps = wanted
        while !steps.isEmpty {
            await files.remove(steps)
            var next: [FinishStep] = []
            var changes: [(job: Publisher.Job, record: TaskRecord, entries: [JournalEntry])] = []
            for step in steps {
                let job = step.job
                for action in step.actions {
                    switch action {
                    case .save(let record, let entries): changes.append((job, record, entries))
                    case .publish(let publication):
                        ready.append(Publisher.Prepared(job: job, publication: publication))
                    default: if let step = await execute(action, job) { next.append(step) }
                    }
                }
            }
            if !changes.isEmpty {
                let isSaved = await save(changes.map { ($0.record, $0.entries) })
                next += changes.map { FinishStep($0.job) { $0.saved(isSaved) } }
            }
            steps = next
        }
        return ready
    }

    /// Executes one action that concerns a single file.
    ///
    /// - Returns: the actions that follow, if the action produced a result.
    private func execute(_ action: FinishAction, _ job: Publisher.Job) async -> FinishStep? {
        let id = job.record.id
        switch action {
        case .closeFile: files.close(job.descriptor, at: job.place)
        case .verify(let asked, let announced, let coding):
            scheduleSoon()
            return await files.verify(
                job, asked: asked, announced: announced, coding: coding, random: environment.random)
        case .arrive: reporting.yield { await $0.finish(job) }
        case .queue:
            finishing.append(job, at: job.place)
            if finishing.beginDraining(at: job.place) { reporting.yield { await $0.drain(job.place) } }
        case .reopen(let publication): return await files.reopen(job, publication)
        case .settleLater: settleSoon()
        case .release:
            finishing.end(id)
            endStart(id)
            claims.wakeWaiters(for: id)
        case .fault(let fault): report(fault, of: id)
        // These actions are executed for many files at once.
        case .save, .publish, .remove: break
        }
        return nil
    }

    // MARK: - Names

    /// Publishes finished files batch by batch until the queue is empty.
    private func drain(_ place: FileSystemKey?) async {
        while let jobs = finishing.nextBatch(at: place) {
            await publish(jobs, at: place)
            // Too many finishing files may have kept transfers from starting.
            await schedule()
        }
    }

    private func publish(_ jobs: [Publisher.Job], at place: FileSystemKey?) async {
        guard let prepared = await files.prepare(jobs, at: place, random: environment.random) else { return }
        // The names of all files are committed before any file is renamed.
        let ready = await execute(prepared)
        guard !ready.isEmpty, let published = await files.publish(ready, at: place) else { return }
        for file in published.compactMap(\.unsyncedFile) {
            logger.error("A directory cannot be synced", metadata: ["file": "\(file)"])
        }
        await execute(published)
    }

    // MARK: - Tasks left by a crash or a full disk

    /// Schedules another attempt for tasks whose next finishing step could not be written.
    private func settleSoon() {
        guard finishing.beginSettling() else { return }
        reporting.yield { await $0.settleLater() }
    }

    private func settleLater() async {
        try? await environment.clock.sleep(untilBootSeconds: now.bootSeconds + Self.storePause)
        finishing.endSettling()
        guard !isStopping else { return }
        do {
            try await settleFinishing()
        } catch {
            storeFailed(error)
            settleSoon()
        }
        await schedule()
    }

    /// Continues finishing tasks that are not in progress. If there are crash suspects, a later scheduling pass does
    /// this, because suspects are retried first and in isolation.
    func settleFinishing() async throws(StoreError) {
        finishing.settlesAfterTrials = admissions.trials.isPending
        if !finishing.settlesAfterTrials { try await takeUpFinishing() }
    }

    /// Continues all finishing tasks that are not in progress because of a crash or a full disk.
    func takeUpFinishing() async throws(StoreError) {
        finishing.settlesAfterTrials = false
        for record in try await store.read({ try $0.finishingTasks() }) { try await takeUp(record.id) }
    }

    /// Continues one finishing task. This function reads the task's row again, because the task may have ended since
    /// the list was read.
    func takeUp(_ id: TaskID) async throws(StoreError) {
        guard !finishing.contains(id), let record = try await store.read({ try $0.readableTask(id) }),
            record.state == .finishing, !finishing.contains(id)
        else { return }
        let place = files.place(of: record)
        finishing.begin(record.id, at: place)
        noteStart(record.id)
        guard place != nil else { return await settle(record, nil) }
        reporting.yield { service in
            await service.settle(record, place)
            // The queue was read while this file system was busy, so the task may belong in it again.
            await service.schedule()
        }
    }

    private func settle(_ record: TaskRecord, _ place: FileSystemKey?) async {
        if let step = await files.settle(record, at: place) { await execute([step]) }
    }
}
