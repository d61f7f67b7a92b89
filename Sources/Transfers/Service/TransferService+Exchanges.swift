import Clock
import Foundation
import Glibc
import Logging
import Mounts
import NightshiftAPI
import Scheduler
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
        let place = fileSystem(of: record)
        var transfer = ActiveTransfer(record: record, startedAt: now.bootSeconds, place: place)
        transfer.run.admitted(now)
        transfer.inputs = bounds.inputs(record)
        active[record.id] = transfer
        startTicker()
        noteAttemptsSoon()
        if let place, let silence = fileSystems.silence(of: place) {
            let failure = TransferFailure.silentDestination(silence, now)
            return await tell(record.id) { $0.destinationSilent(failure, $1, &$2) }
        }
        await exchange(transfer)
    }

    /// Sends the task's next request, either the first one or an immediate further one.
    func exchange(_ start: ActiveTransfer) async {
        var transfer = start
        transfer.wishes.apply(to: &transfer.record)
        switch transfer.record.kind {
        case .download: await download(transfer)
        case .upload: await upload(transfer)
        }
    }

    private func download(_ start: ActiveTransfer) async {
        let record = start.record
        let opening = DownloadOpening(record: record, partials: partials, publisher: publisher, bootID: now.bootID)
        guard let place = start.place else { return await download(start, opening.open()) }
        active[record.id] = start
        let path = record.request.destination?.directory ?? record.partial?.path ?? ""
        // The queue of reports must not wait for another file system.
        reporting.yield { service in
            let opened = await service.fileSystems.run(place, .files, path) {
                opening.open()
            } late: {
                $0.close()
            }
            if let opened { await service.opened(record.id, start.wishes, opened, at: place) }
        }
    }

    /// Continues the start of an exchange after another file system has opened the file.
    private func opened(
        _ id: TaskID, _ wishes: OwnerRequests, _ opened: DownloadOpening.Opened, at place: FileSystemKey
    ) async {
        guard var transfer = active[id], transfer.wishes === wishes, transfer.run.phase == .preparing else {
            return closeFile(opened.partial?.file?.descriptor, at: place)
        }
        transfer.wishes.apply(to: &transfer.record)
        await download(transfer, opened)
    }

    private func download(_ start: ActiveTransfer, _ found: DownloadOpening.Opened) async {
        var transfer = start
        let now = now
        if let failure = found.missingFolder {
            put(transfer)
            return await tell(transfer.record.id) { $0.folderIsMissing(failure, $1, &$2) }
        }
        transfer.record.folder = found.folder
        var opened: OpenPartial?
        switch found.partial {
        case .opened(let file)?: opened = file
        case .lost(let reason)?: forgetBytes(&transfer, because: reason)
        case .trouble(let failure)?: return await trouble(transfer, failure)
        case nil: break
        }
        if let opened, let failure = found.failure {
            closeFile(opened.descriptor, at: transfer.place)
            return await trouble(transfer, failure)
        }
        if var gaps = opened, gaps.segments != nil {
            if let failure = gapsObstacle(transfer) {
                closeFile(gaps.descriptor, at: transfer.place)
                return await trouble(transfer, failure)
            }
            if await fillGaps(&transfer, gaps) { return }
            // The other file system may have taken long to respond, so the transfer may have changed.
            guard let latest = active[start.record.id], latest.wishes === start.wishes, latest.phase == .preparing
            else {
                return closeFile(gaps.descriptor, at: transfer.place)
            }
            transfer.run.keepStop(of: latest.run)
            gaps.count = gaps.segments?.prefix ?? 0
            gaps.segments = nil
            opened = gaps
        }
        let record = transfer.record
        let bytes = opened.flatMap { opened in
            record.partial?.bytes(
                count: opened.count, checksum: record.request.checksum, isKept: !transfer.mayRestart)
        }
        let plan = ExchangePlan(partial: bytes)
        let id = record.id
        let receiver = DownloadReceiver(
            DownloadReceiver.Inputs(
                plan: plan, partial: bytes, policy: responsePolicy(transfer), descriptor: opened?.descriptor,
                partialFile: record.partial, freshPath: found.freshPath, mirror: transfer.round.mirror,
                bootID: now.bootID,
                wallSeconds: now.wallSeconds)
        ) { [reporting] receiver, report in
            switch report {
            case .accepted: reporting.yield { await $0.accepted(id, receiver) }
            case .ended(let end): reporting.yield { await $0.downloadEnded(id, receiver, end) }
            }
        }
        transfer.startCount = receiver.startCount
        transfer.isAccepted = false
        transfer.begunAt = now.bootSeconds
        transfer.answeredAt = nil
        transfer.record.received = receiver.startCount
        transfer.record.noteStart()
        var request = wireRequest(record)
        transfer.shown = addAnswers(to: &request, record)
        if let mirror = transfer.round.mirror { request = request.moved(to: mirror) }
        request.headers += plan.headers
        request.place = transfer.place
        let handle = environment.transport.begin(request, receiver: receiver)
        transfer.exchange = .download(receiver, handle)
        exchangeBegan(transfer)
    }

    /// Returns the settings for judging responses to the requests of a download.
    func responsePolicy(_ transfer: ActiveTransfer) -> ResponsePolicy {
        let record = transfer.record
        var policy = ResponsePolicy(
            retry: record.request.retryPolicy ?? .never,
            // An error response is not saved as the file while another URL may have the file.
            failsOnHTTPError: record.request.failsOnHTTPError ?? false || !transfer.round.isLast,
            mayRestart: transfer.mayRestart)
        policy.isBehindPortal = bounds.isBehindPortal(record)
        policy.expectedName = record.expectedName
        policy.firstDoubt = record.firstDoubt
        policy.asksOwnURL = transfer.round.isOwn
        policy.asksConditionally = record.request.asksConditionally
        policy.hasOwnMethod = record.method != "GET" || record.request.body?.isEmpty == false
        policy.hasLogin = record.request.hasLogin
        policy.decodes = record.decodes
        return policy
    }

    func wireRequest(_ record: TaskRecord) -> WireRequest {
        var request = WireRequest(
            url: record.request.url ?? "", method: record.method, headers: record.request.headers ?? [],
            idleTimeout: record.request.idleTimeout ?? 60)
        request.credential = record.request.credential
        request.proxy = record.request.proxy ?? environment.fallback.proxy
        request.proxyVariable =
            record.request.proxy == nil
            ? environment.fallback.proxy.map { _ in "NIGHTSHIFT_PROXY" } : record.request.proxyVariable
        request.proxyVariables = environment.fallback.proxyVariables
        request.tls = record.request.tls?.filled(from: environment.fallback.tls) ?? environment.fallback.tls
        request.rateLimit = record.request.rateLimit
        if let body = record.request.body, !body.isEmpty {
            request.body = UploadBody([.bytes(Array(body))], meter: ByteMeter())
        }
        return request
    }

    /// Records the response to a download before more than the first bytes of its body are written.
    private func accepted(_ id: TaskID, _ receiver: DownloadReceiver) async {
        guard var transfer = active[id], case .download(let current, let handle) = transfer.exchange,
            current === receiver, !transfer.isAccepted
        else { return }
        transfer.answeredAt = now.bootSeconds
        accept(&transfer, receiver)
        // A download that is about to end is recorded only once, at its end.
        let isBrief = receiver.ceiling.value == .max
        let entries = isBrief ? [] : transfer.entries
        if !isBrief {
            transfer.entries = []
            transfer.isNoted = true
        }
        active[id] = transfer
        guard !isBrief else { return noteStartsSoon() }
        let saved = transfer.record
        // The bytes of a continued task are at the path of the earlier task, which may be in use again.
        let former = receiver.inputs.partialFile
        let path = transfer.record.partial?.path
        guard await save(transfer.record, entries) else {
            interrupt(id, .diskSpace)
            return
        }
        // The next exchange may have begun, and may be using the file.
        guard case .download(let same, _)? = active[id]?.exchange, same === receiver else { return }
        let place = transfer.place
        await onFileSystem(place, .files, path ?? "") { [partials] in
            // This path contains the bytes of an outdated version, and the next new version would use the same path.
            unlink(partials.freshPath(for: saved))
            if let former, former.path != path, let inode = former.inode,
                FileStanding(name: former.path)?.inode == inode
            {
                unlink(former.path)
            }
        }
        guard case .download(let same, _)? = active[id]?.exchange, same === receiver else { return }
        receiver.ceiling.value = .max
        handle.resumeWriting()
        await divide(id)
    }

    private func accept(_ transfer: inout ActiveTransfer, _ receiver: DownloadReceiver) {
        guard let accepted = receiver.reception?.accepted, !transfer.isAccepted else { return }
        transfer.run.accept(accepted, now)
        sourceAnswered(transfer, isOwn: transfer.round.isOwn)
    }

    private func downloadEnded(_ id: TaskID, _ receiver: DownloadReceiver, _ end: ExchangeEnd) async {
        if active[id]?.segments != nil { return await firstSegmentEnded(id, receiver, end) }
        guard var transfer = active[id], case .download(let current, _) = transfer.exchange, current === receiver
        else {
            let files = [receiver.openDescriptor, receiver.reception?.descriptor].compactMap(\.self)
            return await leftEnded(receiver.position, files)
        }
        // Reports may arrive out of order.
        accept(&transfer, receiver)
        transfer.record.received = receiver.position.value
        // After a refused response, the bytes of an earlier response are still on disk.
        if transfer.record.partial?.segments == nil { transfer.record.partial?.length = receiver.fileLength }
        let reception = receiver.reception
        let old = receiver.openDescriptor
        let descriptor = reception?.descriptor ?? old
        if let old, old != descriptor { closeFile(old, at: transfer.place) }
        active[id] = transfer
        if let verdict = reception?.verdict, verdict.clearsHost {
            sourceAnswered(transfer, isOwn: transfer.round.isOwn)
        }

        let facts = DownloadEnd(
            verdict: reception?.verdict, failure: reception?.failure, finding: reception?.overlap?.finding,
            count: receiver.position.value, condition: receiver.plan.condition, outcome: end.outcome)
        await tell(id, file: descriptor, at: transfer.place) {
            $0.ended(facts.conclusion, hasFile: descriptor != nil, at: end.placeOfFailure, $1, &$2)
        }
    }

    static func newToken() -> String {
        UUID().uuidString.lowercased().filter { $0 != "-" }
    }
}

extension Verdict {
    /// Whether the response shows that the host works, even if it refuses the request.
    fileprivate var clearsHost: Bool {
        if case .retryLater = self { false } else { true }
    }
}
