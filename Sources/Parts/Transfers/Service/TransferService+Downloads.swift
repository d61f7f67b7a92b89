import Clock
import Foundation
import Glibc
import Mounts
import NightshiftAPI
import Scheduler
import Sessions
import Store

/// The consecutive exchanges of a task, until all its bytes have arrived or it has to wait.
extension TransferService {
    /// Begins a task that the scheduler has admitted.
    func begin(_ record: TaskRecord) async {
        let now = now
        // Queues of several sessions may lead to one origin. The first task that begins is the probe of that origin.
        guard hosts.admit(way(of: record), now: now.bootSeconds) else { return }
        noteStart(record.id)
        admissions.turns.began(
            hasFailed: record.hasFailed, lane: record.lane, connections: record.maximumConnections)
        var run = TransferRun(record: record, startedAt: now.bootSeconds, inputs: bounds.inputs(record))
        run.admitted(now)
        attempts += 1
        let transfer = ActiveTransfer(run, attempt: attempts, place: files.place(of: record))
        active[record.id] = transfer
        startTicker()
        noteAttemptsSoon()
        if let place = transfer.place, let silence = fileSystems.silence(of: place) {
            let failure = TransferFailure.silentDestination(silence, now)
            return await send(record.id) { $0.destinationSilent(failure, $1, &$2) }
        }
        await exchange(transfer)
    }

    /// Sends the task's next request, either the first one or an immediate further one.
    func exchange(_ transfer: ActiveTransfer) async {
        let record = transfer.record
        switch record.kind {
        case .download:
            let opening = DownloadOpening(
                record: record, partials: files.partials, publisher: files.publisher, bootID: now.bootID)
            await open(transfer, opening.open, close: { $0.close() }, { await $0.download($1, $2) })
        case .upload:
            guard let source = record.sentFiles else {
                let failure = TransferFailure(.sourceMissing, "The upload has no source file.")
                return await send(record.id) { $0.fail(failure, $1, &$2) }
            }
            await open(
                transfer, { UploadFiles.open(source, of: record) }, close: { try? $0.get().close() },
                { await $0.upload($1, source, $2) })
        }
    }

    /// Opens the files of a task, and continues with them.
    private func open<Files: Sendable>(
        _ transfer: ActiveTransfer, _ body: @escaping @Sendable () -> Files,
        close: @escaping @Sendable (Files) -> Void,
        _ proceed: @escaping @Sendable (isolated TransferService, ActiveTransfer, Files) async -> Void
    ) async {
        guard let place = transfer.place else { return await proceed(self, transfer, body()) }
        let (id, attempt, path) = (transfer.record.id, transfer.attempt, transfer.path)
        // The queue of reports must not wait for another file system.
        reporting.yield { service in
            guard let opened = await service.fileSystems.run(place, .files, path, body, late: close) else { return }
            guard await !service.proceed(id, attempt, opened, proceed) else { return }
            service.fileSystems.post(place, .files, path) { close(opened) }
        }
    }

    /// Continues the start of an exchange after another file system has opened its files.
    ///
    /// - Returns: false if the attempt no longer waits for these files.
    private func proceed<Files: Sendable>(
        _ id: TaskID, _ attempt: Int, _ opened: Files,
        _ proceed: @Sendable (isolated TransferService, ActiveTransfer, Files) async -> Void
    ) async -> Bool {
        guard let transfer = active[id], transfer.attempt == attempt, transfer.run.phase == .preparing else {
            return false
        }
        await proceed(self, transfer, opened)
        return true
    }

    private func download(_ transfer: ActiveTransfer, _ found: DownloadOpening.Opened) async {
        let id = transfer.record.id
        if let failure = found.missingFolder { return await send(id) { $0.folderIsMissing(failure, $1, &$2) } }
        transfer.run.folderFound(found.folder)
        switch found.partial {
        case .opened(let file)?:
            if let failure = found.failure { return await refuse(transfer, failure, file) }
            guard let map = file.segments else { return request(transfer, found, file) }
            await fillGaps(transfer, found, file, map)
        case .lost(let reason)?:
            transfer.run.bytesLost(because: reason, now)
            request(transfer, found, nil)
        case .trouble(let failure)?: await send(id) { $0.troubled(failure, $1, &$2) }
        case nil: request(transfer, found, nil)
        }
    }

    /// Handles a failure before the request, with the open file.
    private func refuse(_ transfer: ActiveTransfer, _ failure: TransferFailure, _ opened: OpenPartial) async {
        files.close(opened.descriptor, at: transfer.place)
        await send(transfer.record.id) { $0.troubled(failure, $1, &$2) }
    }

    /// Continues a file that has gaps, over several connections if possible.
    private func fillGaps(
        _ transfer: ActiveTransfer, _ found: DownloadOpening.Opened, _ opened: OpenPartial, _ map: SegmentMap
    ) async {
        switch transfer.run.step(for: map) {
        case .refuse(let failure): await refuse(transfer, failure, opened)
        case .fill(let identity): await divide(transfer, map, identity, opened.descriptor)
        case .cut:
            let isCut = await files.run(at: transfer.place, .files, transfer.path) {
                PartialStorage.cut(opened.descriptor, to: map.prefix)
            }
            // The other file system may have taken long to respond, so the transfer may have changed.
            guard active[transfer.record.id] === transfer, transfer.run.phase == .preparing else {
                return files.close(opened.descriptor, at: transfer.place)
            }
            if isCut == true { transfer.run.gapsCut(map, bootID: now.bootID) }
            var plain = opened
            plain.count = map.prefix
            plain.segments = nil
            request(transfer, found, plain)
        }
    }

    /// Sends the request of a download over one connection.
    private func request(_ transfer: ActiveTransfer, _ found: DownloadOpening.Opened, _ opened: OpenPartial?) {
        let (record, now) = (transfer.record, now)
        let bytes = opened.flatMap { opened in
            record.partial?.bytes(
                count: opened.count, checksum: record.request.checksum, isKept: !transfer.run.mayRestart)
        }
        let plan = ExchangePlan(partial: bytes)
        let (id, mirror) = (record.id, transfer.run.round.mirror)
        let receiver = DownloadReceiver(
            DownloadReceiver.Inputs(
                plan: plan, partial: bytes,
                policy: transfer.run.responsePolicy(isBehindPortal: bounds.isBehindPortal(record)),
                descriptor: opened?.descriptor, partialFile: record.partial, freshPath: found.freshPath,
                mirror: mirror, bootID: now.bootID, wallSeconds: now.wallSeconds)
        ) { [reporting] receiver, report in
            switch report {
            case .accepted: reporting.yield { await $0.accepted(id, receiver) }
            case .ended(let end): reporting.yield { await $0.downloadEnded(id, receiver, end) }
            }
        }
        transfer.run.requested(after: receiver.startCount, now)
        var request = wireRequest(transfer)
        if let mirror { request = request.moved(to: mirror) }
        request.headers += plan.headers
        let handle = environment.transport.begin(request, receiver: receiver)
        exchangeBegan(transfer, .download(receiver, handle))
    }

    /// Returns a request of the task, and stores the answers to challenges that it shows to servers.
    func wireRequest(_ transfer: ActiveTransfer) -> WireRequest {
        var request = environment.fallback.request(for: transfer.record)
        transfer.shown = request.add(appSessions[answersOf: transfer.record.session], of: transfer.record)
        request.place = transfer.place
        request.yields = bounds.yields(transfer.record) ? transfer.yieldMeter : nil
        return request
    }

    /// Returns the transfer that uses this receiver.
    private func transfer(_ id: TaskID, _ receiver: DownloadReceiver) -> (ActiveTransfer, any ExchangeHandle)? {
        guard let transfer = active[id], case .download(let current, let handle) = transfer.exchange,
            current === receiver
        else { return nil }
        return (transfer, handle)
    }

    /// Records the response to a download before more than the first bytes of its body are written.
    private func accepted(_ id: TaskID, _ receiver: DownloadReceiver) async {
        guard let (transfer, handle) = transfer(id, receiver), !transfer.run.isAccepted,
            let accepted = receiver.reception?.accepted
        else { return }
        let now = now
        sourceAnswered(transfer, isOwn: transfer.run.round.isOwn)
        // A download that is about to end is recorded only once, at its end.
        let isBrief = receiver.ceiling.value == .max
        let isSaved = await committed(id) { run, _, _ in run.answered(accepted, isBrief: isBrief, now) }
        if isBrief { return noteStartsSoon() }
        // The next exchange may have begun, and may be using the file.
        guard isSaved, self.transfer(id, receiver) != nil else { return }
        let saved = transfer.record
        // The bytes of a continued task are at the path of the earlier task, which may be in use again.
        let former = receiver.inputs.partialFile
        await files.run(at: transfer.place, .files, saved.partial?.path ?? "") { [files] in
            // This path contains the bytes of an outdated version, and the next new version would use the same path.
            unlink(files.partials.freshPath(for: saved))
            if let former, former.path != saved.partial?.path, let inode = former.inode,
                FileStanding(name: former.path)?.inode == inode
            {
                unlink(former.path)
            }
        }
        guard self.transfer(id, receiver) != nil else { return }
        receiver.ceiling.value = .max
        handle.resumeWriting()
        await divide(id)
    }

    private func downloadEnded(_ id: TaskID, _ receiver: DownloadReceiver, _ end: ExchangeEnd) async {
        if active[id]?.segments?.connection(at: receiver.position) != nil {
            return await connectionEnded(id, receiver.position, nil, end)
        }
        let reception = receiver.reception
        guard let (transfer, _) = transfer(id, receiver) else {
            let left = [receiver.openDescriptor, reception?.descriptor].compactMap(\.self)
            return await leftEnded(receiver.position, left)
        }
        let isOwn = transfer.run.round.isOwn
        // Reports may arrive out of order.
        if let accepted = reception?.accepted, !transfer.run.isAccepted {
            transfer.run.accept(accepted, now)
            sourceAnswered(transfer, isOwn: isOwn)
        }
        transfer.run.bytesCounted(receiver.position.value, length: receiver.fileLength)
        let old = receiver.openDescriptor
        let descriptor = reception?.descriptor ?? old
        if let old, old != descriptor { files.close(old, at: transfer.place) }
        // If the server only asks for patience, the response does not show that the host works.
        if let verdict = reception?.verdict {
            if case .retryLater = verdict {} else { sourceAnswered(transfer, isOwn: isOwn) }
        }
        let facts = DownloadEnd(
            verdict: reception?.verdict, failure: reception?.failure, finding: reception?.overlap?.finding,
            count: receiver.position.value, condition: receiver.plan.condition, outcome: end.outcome)
        await send(id, file: descriptor, at: transfer.place) {
            $0.ended(facts.conclusion, hasFile: descriptor != nil, at: end.placeOfFailure, $1, &$2)
        }
    }
}
