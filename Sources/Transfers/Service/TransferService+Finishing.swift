import Clock
import Foundation
import Glibc
import Logging
import Mounts
import NightshiftAPI
import Store

/// The steps from the last byte to the published file, for many files at the same time. This code executes the actions
/// of each ``FinishRun`` and sends it the results. The ``FinishRun`` makes all decisions.
extension TransferService {
    /// A finishing file with the next actions of its run.
    private typealias Step = (job: Publisher.Job, actions: [FinishAction])

    /// Takes over a download whose bytes are all in `descriptor`. Other tasks may use its connection from now on.
    func finish(_ transfer: ActiveTransfer, _ descriptor: Int32, _ entries: [JournalEntry]) async {
        let run = FinishRun(
            record: transfer.record, entries: entries, wasContinued: transfer.startCount > 0 || transfer.wasDivided)
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
        let found = await onFileSystem(job.place, .finish, path(of: job)) {
            (
                size: FileIdentity(descriptor: job.descriptor)?.size,
                hasHoles: PartialStorage.hasHoles(job.descriptor, size: job.run.length)
            )
        }
        guard let found else { return }
        await execute([told(job) { $0.arrived(size: found.size, hasHoles: found.hasHoles, now: now) }])
        // The connection is free, although the disk still has work to do for this file.
        await schedule()
    }

    /// Returns the current path of a finishing file, for display.
    private func path(of job: Publisher.Job) -> String {
        job.record.request.destination?.directory ?? job.record.partial?.path ?? ""
    }

    // MARK: - Executing actions

    private func told(_ job: Publisher.Job, _ input: (inout FinishRun) -> [FinishAction]) -> Step {
        var job = job
        let actions = input(&job.run)
        return (job, actions)
    }

    /// Executes the actions for each file in their order, and then the actions that their results request. Writes for
    /// several files share one commit.
    ///
    /// - Returns: the files that are ready to get their names.
    @discardableResult
    private func execute(_ wanted: [Step]) async -> [Publisher.Prepared] {
        var ready: [Publisher.Prepared] = []
        var steps = wanted
        while !steps.isEmpty {
            await remove(steps)
            var next: [Step] = []
            var changes: [(job: Publisher.Job, record: TaskRecord, entries: [JournalEntry])] = []
            for (job, actions) in steps {
                for action in actions {
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
                next += changes.map { told($0.job) { $0.saved(isSaved) } }
            }
            steps = next
        }
        return ready
    }

    /// Executes one action that concerns a single file.
    ///
    /// - Returns: the actions that follow, if the action produced a result.
    private func execute(_ action: FinishAction, _ job: Publisher.Job) async -> Step? {
        let id = job.record.id
        switch action {
        case .closeFile: closeFile(job.descriptor, at: job.place)
        case .verify(let asked, let announced, let coding):
            reporting.yield { await $0.schedule() }
            let (stopping, descriptor, record) = (disks.stopping, job.descriptor, job.record)
            let verify: @Sendable () -> Result<Verification.Finding, TransferFailure> = { [partials] in
                Verification.verify(
                    descriptor: descriptor, asked: asked, announced: announced,
                    coding: coding.map { coding in (coding, { partials.freshPath(for: record) }) }
                ) { stopping.value != 0 }
            }
            let result =
                if let place = job.place {
                    await fileSystems.run(place, .hash, path(of: job), verify)
                } else {
                    await disks.hash.run(verify)
                }
            guard let result else { return nil }
            var job = job
            if case .success(let finding) = result, let file = finding.decoded?.file {
                closeFile(job.descriptor, at: job.place)
                job.descriptor = file.descriptor
            }
            let file = result.map { $0.file(bootID: now.bootID) }
            return told(job) { $0.verified(file, now: now, random: environment.random) }
        case .arrive: reporting.yield { await $0.finish(job) }
        case .queue:
            finishing.append(job, at: job.place)
            startDraining(at: job.place)
        case .reopen(let publication):
            let found = await onFileSystem(job.place, .finish, publication.from) { () -> (Int32, Bool?) in
                let descriptor = open(publication.from, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
                guard descriptor >= 0 else { return (descriptor, nil) }
                let inode = FileStanding(descriptor: descriptor)?.inode
                return (descriptor, inode.map(publication.mayName) ?? false)
            }
            guard let (descriptor, isSame) = found else { return nil }
            var job = job
            job.descriptor = descriptor
            return told(job) { $0.reopened(isSame: isSame) }
        case .settleLater: settleSoon()
        case .release: endFinishing(id)
        case .fault(let fault): report(fault, of: id)
        // These actions are executed for many files at once.
        case .save, .publish, .remove: break
        }
        return nil
    }

    private func remove(_ steps: [Step]) async {
        let remains = steps.map { ($0.job, $0.actions.compactMap(\.remains)) }.filter { !$0.1.isEmpty }
        for (job, remains) in remains {
            guard let place = job.place else { continue }
            fileSystems.post(place, .files, path(of: job)) { [partials] in partials.remove(remains) }
        }
        let own = remains.filter { $0.0.place == nil }.flatMap(\.1)
        guard !own.isEmpty else { return }
        await disks.finish.run { [partials] in partials.remove(own) }
    }

    private func endFinishing(_ id: TaskID) {
        finishing.end(id)
        endStart(id)
        claims.wakeWaiters(for: id)
    }

    // MARK: - Names

    private func startDraining(at place: FileSystemKey?) {
        guard finishing.beginDraining(at: place) else { return }
        reporting.yield { await $0.drain(place) }
    }

    /// Publishes finished files batch by batch until the queue is empty.
    private func drain(_ place: FileSystemKey?) async {
        while let jobs = finishing.nextBatch(at: place) {
            await publish(jobs, at: place)
            // Too many finishing files may have kept transfers from starting.
            await schedule()
        }
    }

    private func publish(_ jobs: [Publisher.Job], at place: FileSystemKey?) async {
        let publisher = publisher
        // The result is nil if the service stops before another file system responds. The rows then show how far each
        // task is.
        guard let preparations = await finishing(place, jobs, { publisher.prepare($0) }) else { return }
        let (time, random) = (now, environment.random)
        // The names of all files are committed before any file is renamed.
        let ready = await execute(
            preparations.map { preparation in
                switch preparation {
                case .ready(let item): told(item.job) { $0.prepared(item.publication, now: time) }
                case .failed(let job, let failure): told(job) { $0.unprepared(failure, now: time, random: random) }
                case .homeless(let job, let failure): told(job) { $0.folderIsMissing(failure, now: time) }
                case .unplaced(let job, let failure):
                    told(job) { $0.unprepared(failure, areBytesSafe: true, now: time, random: random) }
                case .replaced(let job, let failure): told(job) { $0.replaced(failure, now: time) }
                }
            })
        guard !ready.isEmpty else { return }
        guard let outcomes = await finishing(place, ready, { publisher.publish($0) }) else { return }
        await execute(outcomes.map { told($0, now) })
    }

    /// Runs a step for files of one file system.
    private func finishing<Item: Sendable, Value: Sendable>(
        _ place: FileSystemKey?, _ items: [Item], _ body: @escaping @Sendable ([Item]) -> Value
    ) async -> Value? {
        guard let place else { return await disks.finish.run { body(items) } }
        let path =
            (items.first as? Publisher.Job).map(path(of:)) ?? (items.first as? Publisher.Prepared)?.publication.to
        return await fileSystems.run(place, .finish, path ?? "") { body(items) }
    }

    private func told(_ outcome: Publisher.Outcome, _ now: ClockReading) -> Step {
        switch outcome {
        case .published(let item): return told(item.job) { $0.published(now: now) }
        case .nameTaken(let item): return told(item.job) { $0.nameTaken() }
        case .unreachable(let item): return told(item.job) { $0.unreachable(now: now) }
        case .unsynced(let item):
            logger.error("A directory cannot be synced", metadata: ["file": "\(item.publication.to)"])
            return told(item.job) { $0.unsynced() }
        case .replaced(let item, let failure): return told(item.job) { $0.replaced(failure, now: now) }
        case .failed(let item, let failure): return told(item.job) { $0.unplaced(failure, now: now) }
        }
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
        let place = fileSystem(of: record)
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
        let (run, time) = (FinishRun(record: record), now)
        if let publication = record.publication {
            let found = await onFileSystem(place, .finish, publication.to) { [publisher] in
                publisher.inspect(publication, of: record)
            }
            guard let (finding, descriptor) = found else { return }
            let job = Publisher.Job(run: run, descriptor: descriptor, place: place)
            await execute([told(job) { $0.found(finding, now: time) }])
        } else {
            let found = await onFileSystem(place, .finish, record.partial?.path ?? "") { [partials] in
                record.partial.flatMap { partials.open($0, bootID: time.bootID).file }
            }
            guard let file = found else { return }
            let job = Publisher.Job(run: run, descriptor: file?.descriptor ?? -1, place: place)
            await execute([
                told(job) { $0.found(count: file?.count, isDivided: file?.segments != nil, now: time) }
            ])
        }
    }
}

extension PartialStorage {
    fileprivate func remove(_ remains: [FinishAction.Remains]) {
        for remains in remains {
            switch remains {
            case .all(let record): discard(record)
            case .rest(let record): discardRest(record)
            }
        }
    }
}

extension FinishAction {
    fileprivate var remains: Remains? { if case .remove(let remains) = self { remains } else { nil } }
}
