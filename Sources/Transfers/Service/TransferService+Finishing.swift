import Clock
import Foundation
import Glibc
import Logging
import NightshiftAPI
import Store

/// From the last byte to the file under its name, many files at a time: does what a ``FinishRun`` wants, and tells it what came
/// of that. Decides nothing.
extension TransferService {
    /// A file on its way, with what its run wants next.
    private typealias Step = (job: Publisher.Job, actions: [FinishAction])

    /// Takes over a download whose bytes are all in `descriptor`. Its connection is free from here on.
    func finish(_ transfer: ActiveTransfer, _ descriptor: Int32, _ entries: [JournalEntry]) async {
        let run = FinishRun(
            record: transfer.record, entries: entries, wasContinued: transfer.startCount > 0 || transfer.wasDivided)
        await finish(Publisher.Job(run: run, descriptor: descriptor))
    }

    private func finish(_ job: Publisher.Job) async {
        finishing.begin(job.record.id)
        active[job.record.id] = nil
        let size = FileIdentity(descriptor: job.descriptor)?.size
        let hasHoles = PartialStorage.hasHoles(job.descriptor, size: job.run.length)
        await execute([told(job) { $0.arrived(size: size, hasHoles: hasHoles, now: now) }])
        // The connection is free, whatever the disk still has to do.
        await pump()
    }

    // MARK: - Carrying out

    private func told(_ job: Publisher.Job, _ input: (inout FinishRun) -> [FinishAction]) -> Step {
        var job = job
        let actions = input(&job.run)
        return (job, actions)
    }

    /// Does what files want, each in its order, and what they want then. What several want written down is one commit.
    ///
    /// - Returns: those that are to get their names now.
    @discardableResult
    private func execute(_ wanted: [Step]) async -> [Publisher.Prepared] {
        var ready: [Publisher.Prepared] = []
        var steps = wanted
        while !steps.isEmpty {
            await remove(steps.flatMap { $0.actions.compactMap(\.remains) })
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

    /// Does one thing that a file wants for itself.
    ///
    /// - Returns: what it wants then, where it has learned something.
    private func execute(_ action: FinishAction, _ job: Publisher.Job) async -> Step? {
        let id = job.record.id
        switch action {
        case .closeFile: close(job.descriptor)
        case .hash(let asked, let announced):
            reporting.yield { await $0.pump() }
            let (stopping, descriptor) = (disks.stopping, job.descriptor)
            let result = await disks.hash.run {
                Verification.verify(descriptor: descriptor, asked: asked, announced: announced) { stopping.value != 0 }
            }
            return told(job) { $0.hashed(result, now: now, random: environment.random) }
        case .arrive: reporting.yield { await $0.finish(job) }
        case .queue:
            finishing.append(job)
            startDraining()
        case .reopen(let publication):
            var job = job
            job.descriptor = open(publication.from, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            let inode = job.descriptor < 0 ? nil : FileStanding(descriptor: job.descriptor)?.inode
            let isSame: Bool? = job.descriptor < 0 ? nil : inode.map(publication.mayName) ?? false
            return told(job) { $0.reopened(isSame: isSame) }
        case .settleLater: settleSoon()
        case .release: endFinishing(id)
        case .fault(let fault): report(fault, of: id)
        // Done for many at once.
        case .save, .publish, .remove: break
        }
        return nil
    }

    private func remove(_ remains: [FinishAction.Remains]) async {
        guard !remains.isEmpty else { return }
        await disks.finish.run { [partials] in
            for remains in remains {
                switch remains {
                case .all(let record): partials.discard(record)
                case .rest(let record): partials.discardRest(record)
                }
            }
        }
    }

    private func endFinishing(_ id: TaskID) {
        finishing.end(id)
        endStart(id)
        claims.wakeWaiters(for: id)
    }

    // MARK: - Names

    private func startDraining() {
        guard finishing.beginDraining() else { return }
        reporting.yield { await $0.drain() }
    }

    /// Publishes what is finished, batch by batch, as long as there is any.
    private func drain() async {
        while let jobs = finishing.nextBatch() {
            await publish(jobs)
            // Connections may have been held back because too much waited here.
            await pump()
        }
    }

    private func publish(_ jobs: [Publisher.Job]) async {
        let publisher = publisher
        let preparations = await disks.finish.run { publisher.prepare(jobs) }
        let (time, random) = (now, environment.random)
        // Which file is about to get which name is written down before it does.
        let ready = await execute(
            preparations.map { preparation in
                switch preparation {
                case .ready(let item): told(item.job) { $0.prepared(item.publication, now: time) }
                case .failed(let job, let failure): told(job) { $0.unprepared(failure, now: time, random: random) }
                case .replaced(let job, let failure): told(job) { $0.replaced(failure, now: time) }
                }
            })
        guard !ready.isEmpty else { return }
        let outcomes = await disks.finish.run { publisher.publish(ready) }
        await execute(outcomes.map { told($0, now) })
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

    // MARK: - What a crash or a full disk has left

    /// Looks again after a while at tasks whose next step to their end could not be written down.
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
        await pump()
    }

    /// Has the next pump carry on with tasks that the store says are finishing and nobody works on, where there are suspects
    /// of a fault: they are tried first, alone. Carries on with them at once where there are none.
    func settleFinishing() async throws(StoreError) {
        finishing.settlesAfterTrials = admissions.trials.isPending
        if !finishing.settlesAfterTrials { try await takeUpFinishing() }
    }

    /// Carries on with tasks that are finishing and nobody works on: a crash or a full disk left them.
    func takeUpFinishing() async throws(StoreError) {
        finishing.settlesAfterTrials = false
        for record in try await store.read({ try $0.finishingTasks() }) { try await takeUp(record.id) }
    }

    /// Carries on with one of them, as it is now: it may have come to its end since somebody has read its row.
    func takeUp(_ id: TaskID) async throws(StoreError) {
        guard !finishing.contains(id), let record = try await store.read({ try $0.readableTask(id) }),
            record.state == .finishing, !finishing.contains(id)
        else { return }
        finishing.begin(record.id)
        noteStart(record.id)
        await settle(record)
    }

    private func settle(_ record: TaskRecord) async {
        let (run, time) = (FinishRun(record: record), now)
        if let publication = record.publication {
            let (finding, descriptor) = Publisher.inspect(publication)
            let job = Publisher.Job(run: run, descriptor: descriptor)
            await execute([told(job) { $0.found(finding, now: time) }])
        } else {
            let file = record.partial.flatMap { partials.open($0, bootID: time.bootID).file }
            let job = Publisher.Job(run: run, descriptor: file?.descriptor ?? -1)
            await execute([
                told(job) { $0.found(count: file?.count, isDivided: file?.segments != nil, now: time) }
            ])
        }
    }
}

extension FinishAction {
    fileprivate var remains: Remains? { if case .remove(let remains) = self { remains } else { nil } }
}
