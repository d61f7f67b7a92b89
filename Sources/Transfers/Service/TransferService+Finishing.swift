import Clock
import Foundation
import Glibc
import Logging
import NightshiftAPI
import Store

/// From the last byte to the file under its name, many files at a time.
extension TransferService {
    /// Takes over a download whose bytes are all in `descriptor`. Its connection is free from here on.
    func finish(_ start: ActiveTransfer, _ descriptor: Int32, _ entries: [JournalEntry]) async {
        var record = start.record
        let id = record.id
        finishing.begin(id)
        active[id] = nil
        let partial = record.partial
        let length = record.received
        let size = FileIdentity(descriptor: descriptor)?.size
        record.received = size ?? length
        var job = Publisher.Job(record: record, descriptor: descriptor, length: length, verified: [])
        job.entries = entries
        // One that a crash has left finishing is so already.
        if record.state != .finishing { job.entries += apply(.finish(nil), to: &job.record, now: now) }
        guard job.record.state == .finishing else {
            // A fault of the service's has ended it.
            close(descriptor)
            if !(await save(job.record, job.entries)) { settleSoon() }
            endFinishing(id)
            return await pump()
        }
        if size != length || PartialStorage.hasHoles(descriptor, size: length) {
            close(descriptor)
            let words =
                size == length
                ? "bytes within it are gone" : "the partial file has \(size ?? 0) bytes instead of \(length)"
            return await replacedBytes(job, .replaced(words))
        }
        let announced = partial?.digests ?? []
        let asked = record.request.checksum
        if asked != nil || !announced.isEmpty {
            // Hashing takes its time: what is going on is written down first.
            if await save(job.record, job.entries) { job.entries = [] }
            reporting.yield { await $0.pump() }
            let stopping = disks.stopping
            let result = await disks.hash.run {
                Verification.verify(descriptor: descriptor, asked: asked, announced: announced) { stopping.value != 0 }
            }
            switch result {
            case .success(let names): job.verified = names
            case .failure(let failure) where failure.isStopOfVerification:
                // The row says how far it is; the next service takes it from there.
                close(descriptor)
                return endFinishing(id)
            case .failure(let failure):
                close(descriptor)
                return await wrongBytes(job, failure, wasContinued: start.startCount > 0 || start.wasDivided)
            }
        }
        finishing.append(job)
        startDraining()
        // The connection is free, whatever the disk still has to do.
        await pump()
    }

    /// The bytes are not what they should be, or cannot be looked at; see ``FinishTrouble``.
    private func wrongBytes(_ start: Publisher.Job, _ failure: TransferFailure, wasContinued: Bool) async {
        var job = start
        let record = job.record
        let event = FinishTrouble.wrongBytes(
            failure, wasContinued: wasContinued, of: &job.record, bootSeconds: now.bootSeconds,
            random: environment.random)
        job.entries += apply(event, to: &job.record, now: now)
        if await save(job.record, job.entries) {
            if job.record.partial == nil { partials.discard(record) }
        } else {
            settleSoon()
        }
        endFinishing(record.id)
        await pump()
    }

    /// Somebody has touched the file since its bytes were written: they are fetched again.
    private func replacedBytes(_ start: Publisher.Job, _ failure: TransferFailure) async {
        var job = start
        let record = job.record
        job.entries += apply(.fetchAgain(failure), to: &job.record, now: now)
        if await save(job.record, job.entries) { partials.discard(record) } else { settleSoon() }
        endFinishing(record.id)
        await pump()
    }

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
        var ready: [Publisher.Prepared] = []
        for preparation in await disks.finish.run({ publisher.prepare(jobs) }) {
            switch preparation {
            case .ready(let prepared): ready.append(prepared)
            case .failed(let job, let failure):
                close(job.descriptor)
                await wrongBytes(job, failure, wasContinued: false)
            case .replaced(let job, let failure):
                close(job.descriptor)
                await replacedBytes(job, failure)
            }
        }
        guard await commitIntents(&ready) else { return }
        let outcomes = await disks.finish.run { [ready] in publisher.publish(ready) }
        await commitOutcomes(outcomes)
    }

    /// Writes down which file is about to get which name, before it does.
    private func commitIntents(_ ready: inout [Publisher.Prepared]) async -> Bool {
        let now = now
        for index in ready.indices {
            var job = ready[index].job
            job.entries += apply(.publish(ready[index].publication), to: &job.record, now: now)
            ready[index].job = job
        }
        if await save(ready.map { ($0.job.record, $0.job.entries) }) {
            // Those that a fault of the service's has ended are not published.
            for item in ready where item.job.record.state != .finishing {
                close(item.job.descriptor)
                endFinishing(item.job.record.id)
            }
            ready.removeAll { $0.job.record.state != .finishing }
            return true
        }
        // Most rows say that the bytes are still coming; a later attempt finds them all here. Others say 'finishing'.
        settleSoon()
        for item in ready {
            close(item.job.descriptor)
            endFinishing(item.job.record.id)
        }
        return false
    }

    private func commitOutcomes(_ outcomes: [Publisher.Outcome]) async {
        let now = now
        var settled: [(record: TaskRecord, entries: [JournalEntry])] = []
        var unsynced: [TaskID] = []
        var replaced: [TaskRecord] = []
        for outcome in outcomes {
            switch outcome {
            case .published(let item):
                var record = item.job.record
                let entries = apply(item.publication.end, to: &record, now: now)
                record.partial?.path = item.publication.to
                settled.append((record, entries))
            case .nameTaken(let item):
                requeue(item)
            case .unsynced(let item):
                // The intent stays written down; it is settled when the directory can be synced.
                logger.error("A directory cannot be synced", metadata: ["file": "\(item.publication.to)"])
                unsynced.append(item.job.record.id)
            case .replaced(let item, let failure):
                var record = item.job.record
                replaced.append(record)
                let entries = apply(.fetchAgain(failure), to: &record, now: now)
                settled.append((record, entries))
            case .failed(let item, let failure):
                guard
                    let event = FinishTrouble.unplaced(
                        failure, isRefused: item.job.refusal != nil, bootSeconds: now.bootSeconds)
                else {
                    requeue(item, refusal: failure)
                    continue
                }
                var record = item.job.record
                let entries = apply(event, to: &record, now: now)
                settled.append((record, entries))
            }
        }
        if await save(settled) {
            let ended = settled.map(\.record).filter(\.state.isTerminal)
            await disks.finish.run { [partials, replaced] in
                for record in ended { partials.discardRest(record) }
                for record in replaced { partials.discard(record) }
            }
        } else {
            // The files have their names, and the intents say so: it is put right when the store works again.
            settleSoon()
        }
        for item in settled { endFinishing(item.record.id) }
        for id in unsynced { endFinishing(id) }
        if !unsynced.isEmpty { settleSoon() }
    }

    /// A file whose name was taken in between gets the next one, and one that cannot have its name is kept.
    private func requeue(_ item: Publisher.Prepared, refusal: TransferFailure? = nil) {
        let descriptor = open(item.publication.from, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            settleSoon()
            return endFinishing(item.job.record.id)
        }
        var job = item.job
        job.descriptor = descriptor
        job.refusal = refusal
        job.entries = []
        if FileStanding(descriptor: descriptor)?.inode != item.publication.inode { job.length = -1 }
        finishing.append(job)
    }

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
        finishing.settlesAfterTrials = trials.isPending
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
        starts.begin(record.id)
        await settle(record)
        startDraining()
    }

    private func settle(_ start: TaskRecord) async {
        var record = start
        let now = now
        if let publication = record.publication {
            switch Publisher.inspect(publication) {
            case .done:
                let entries = apply(publication.end, to: &record, now: now)
                record.partial?.path = publication.to
                if await save(record, entries) { partials.discardRest(record) } else { settleSoon() }
                return endFinishing(record.id)
            case .unclear:
                settleSoon()
                return endFinishing(record.id)
            case .pending(let descriptor):
                finishing.append(
                    Publisher.Job(
                        record: record, descriptor: descriptor, length: publication.size,
                        verified: publication.verified))
                return
            case .lost:
                let failure = TransferFailure(.inputOutput, "The finished bytes are gone; they are fetched again.")
                let entries = apply(.fetchAgain(failure), to: &record, now: now)
                if !(await save(record, entries)) { settleSoon() }
                return endFinishing(record.id)
            }
        }
        if let partial = record.partial, let opened = partials.open(partial, bootID: now.bootID).file {
            if opened.count == partial.total, opened.segments == nil {
                var transfer = ActiveTransfer(record: record, startedAt: now.bootSeconds)
                transfer.startCount = opened.count
                transfer.record.received = opened.count
                let descriptor = opened.descriptor
                reporting.yield { [transfer] in await $0.finish(transfer, descriptor, []) }
                return
            }
            close(opened.descriptor)
        }
        // Not all of it outlived the crash: the ordinary way goes on from what is here.
        let entries = apply(.interrupt(.starting), to: &record, now: now)
        if !(await save(record, entries)) { settleSoon() }
        endFinishing(record.id)
    }

    private func endFinishing(_ id: TaskID) {
        finishing.end(id)
        endStart(id)
        wakeQuietWaiters(id)
    }
}

extension Publication {
    /// How the task ends once the file has its name.
    fileprivate var end: TaskEvent {
        if let failure { .fail(failure, file: to, resumeData: nil) } else { .complete(file: to, verified: verified) }
    }
}
