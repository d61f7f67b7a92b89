import Clock
import Foundation
import Glibc
import Logging
import NightshiftAPI
import Scheduler
import Store

/// One exchange after the other, until the task's bytes are here or it has to wait.
extension TransferService {
    /// Begins a task that was admitted.
    func begin(_ record: TaskRecord) async {
        let now = now
        // Lanes of several sessions may lead to one origin: the first that comes is its probe.
        guard hosts.admit(way(of: record), now: now.bootSeconds) else { return }
        turns.began(hasFailed: record.fruitless > 0, lane: record.lane, connections: record.maximumConnections)
        var transfer = ActiveTransfer(record: record, startedAt: now.bootSeconds)
        _ = try? transfer.record.apply(.begin, now: now)
        transfer.checkpointAt = now.bootSeconds
        transfer.inputs = inputs(record)
        if record.lastError?.code == .checksumMismatch {
            transfer.singleReason = "Bytes that had come were wrong"
        }
        active[record.id] = transfer
        starts.begin(record.id)
        startTicker()
        noteAttemptsSoon()
        await exchange(transfer)
    }

    /// Asks the server: the first time, or again at once.
    func exchange(_ start: ActiveTransfer) async {
        var transfer = start
        transfer.wishes.apply(to: &transfer.record)
        switch transfer.record.kind {
        case .download: await download(transfer)
        case .upload: await upload(transfer)
        }
    }

    private func download(_ start: ActiveTransfer) async {
        var transfer = start
        let now = now
        // Where the bytes are kept depends on the file system of the destination, which has to be there for that.
        if let directory = start.record.request.destination?.directory { _ = publisher.makeDirectory(directory) }
        // Only what GET gives can be asked for in parts.
        var opened: OpenPartial?
        if start.record.method == "GET", !start.record.request.asksConditionally, let partial = start.record.partial {
            switch partials.open(partial, bootID: now.bootID) {
            case .opened(let file): opened = file
            case .lost(let reason): forgetBytes(&transfer, because: reason)
            case .trouble(let failure): return await trouble(transfer, failure)
            }
        }
        if let opened, let failure = lackOfSpace(start.record, opened) {
            close(opened.descriptor)
            return await trouble(transfer, failure)
        }
        if var gaps = opened, gaps.segments != nil {
            if let failure = gapsObstacle(transfer) {
                close(gaps.descriptor)
                return await trouble(transfer, failure)
            }
            if await fillGaps(&transfer, gaps) { return }
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
        var policy = ResponsePolicy(
            retry: record.request.retryPolicy ?? .never,
            // An error is not taken for the file while somebody else may have it.
            failsOnHTTPError: record.request.failsOnHTTPError ?? false || !transfer.round.isLast,
            mayRestart: transfer.mayRestart)
        policy.isBehindPortal = isBehindPortal(record)
        policy.asksConditionally = record.request.asksConditionally
        let receiver = DownloadReceiver(
            DownloadReceiver.Inputs(
                plan: plan, partial: bytes, policy: policy, descriptor: opened?.descriptor, partialFile: record.partial,
                freshPath: partials.freshPath(for: record), mirror: transfer.round.mirror, bootID: now.bootID,
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
        let handle = environment.transport.begin(request, receiver: receiver)
        transfer.exchange = .download(receiver, handle)
        active[id] = transfer
    }

    func wireRequest(_ record: TaskRecord) -> WireRequest {
        var request = WireRequest(
            url: record.request.url ?? "", method: record.method, headers: record.request.headers ?? [],
            idleTimeout: record.request.idleTimeout ?? 60)
        request.credential = record.request.credential
        request.proxy = record.request.proxy ?? environment.fallback.proxy
        request.tls = record.request.tls?.filled(from: environment.fallback.tls) ?? environment.fallback.tls
        request.rateLimit = record.request.rateLimit
        if let body = record.request.body, !body.isEmpty {
            request.body = UploadBody([.bytes(Array(body))], meter: ByteMeter())
        }
        return request
    }

    /// The server's answer is taken: it is written down before much of it is.
    private func accepted(_ id: TaskID, _ receiver: DownloadReceiver) async {
        guard var transfer = active[id], case .download(let current, let handle) = transfer.exchange,
            current === receiver, !transfer.isAccepted
        else { return }
        transfer.answeredAt = now.bootSeconds
        transfer.entries += accept(&transfer, receiver)
        // One whose end is near is written down once, at its end.
        let isBrief = receiver.ceiling.value == .max
        let entries = isBrief ? [] : transfer.entries
        if !isBrief {
            transfer.entries = []
            transfer.isNoted = true
        }
        active[id] = transfer
        guard !isBrief else { return }
        // The place of a version that is gone; new bytes would be the next to use it.
        let unused = partials.freshPath(for: transfer.record)
        guard await save(transfer.record, entries) else {
            interrupt(id, .diskSpace)
            return
        }
        // The next exchange, if there is one by now, may be using it.
        guard case .download(let same, _)? = active[id]?.exchange, same === receiver else { return }
        unlink(unused)
        receiver.ceiling.value = .max
        handle.resumeWriting()
        await divide(id)
    }

    private func accept(_ transfer: inout ActiveTransfer, _ receiver: DownloadReceiver) -> [JournalEntry] {
        guard let accepted = receiver.reception?.accepted, !transfer.isAccepted else { return [] }
        transfer.isAccepted = true
        sourceAnswered(transfer, isOwn: transfer.round.isOwn)
        var entries = (try? transfer.record.apply(.accept(accepted), now: now)) ?? []
        if !transfer.inputs.isEmpty, !entries.isEmpty { entries[entries.count - 1].inputs = transfer.inputs }
        return entries
    }

    private func downloadEnded(_ id: TaskID, _ receiver: DownloadReceiver, _ end: ExchangeEnd) async {
        if active[id]?.segments != nil { return await firstSegmentEnded(id, receiver, end) }
        guard var transfer = active[id], case .download(let current, _) = transfer.exchange, current === receiver
        else { return }
        var entries = transfer.entries
        transfer.entries = []
        if !transfer.isAccepted { entries += accept(&transfer, receiver) }
        transfer.record.received = receiver.position.value
        // With a response that was refused the bytes of an earlier one are still there.
        if transfer.record.partial?.segments == nil { transfer.record.partial?.length = receiver.fileLength }
        let reception = receiver.reception
        let old = receiver.openDescriptor
        let descriptor = reception?.descriptor ?? old
        if let old, old != descriptor { close(old) }
        active[id] = transfer
        if let verdict = reception?.verdict, verdict.clearsHost {
            sourceAnswered(transfer, isOwn: transfer.round.isOwn)
        }

        switch Self.conclusion(receiver, reception, end) {
        case .whole:
            if let descriptor { return await finish(transfer, descriptor, entries) }
            await trouble(transfer, TransferFailure(.inputOutput, "The file's bytes are gone."), entries)
        case .again(let condition, let reason):
            if let descriptor { close(descriptor) }
            await again(transfer, condition, reason, entries)
        case .interrupted:
            await interrupted(transfer, descriptor, entries)
        case .doubt(let doubt, let failure):
            if let descriptor { close(descriptor) }
            transfer.record.partial?.doubt = doubt
            await trouble(transfer, failure, entries)
        case .trouble(let failure, let after):
            if let descriptor { close(descriptor) }
            await trouble(transfer, failure, after: after, at: failurePoint(end), entries)
        case .worthless(let failure):
            if let descriptor { close(descriptor) }
            // With what was here before, the mistake may lie there. Without, asking again at once would fetch it all again.
            if receiver.startCount > 0 { return await again(transfer, nil, failure.message, entries) }
            transfer.record.partial = nil
            transfer.record.received = 0
            transfer.record.noteRestart()
            await trouble(transfer, failure, at: failurePoint(end), entries)
        case .question where !transfer.round.isOwn:
            if let descriptor { close(descriptor) }
            await trouble(transfer, TransferFailure(.httpStatus, "A mirror asks who is there."), entries)
        case .question(let challenge):
            if let descriptor { close(descriptor) }
            await challenged(transfer, challenge, entries)
        }
    }

    /// Asks again at once, a bounded number of times.
    func again(
        _ start: ActiveTransfer, _ condition: RangeCondition?, _ reason: String, _ entries: [JournalEntry]
    ) async {
        var transfer = start
        if condition == nil, !transfer.mayRestart {
            return await trouble(transfer, .keepsBytes(because: reason), entries)
        }
        transfer.repetitions += 1
        guard transfer.repetitions <= Self.repetitionLimit else {
            let failure = TransferFailure(.resourceChanged, "The server's answers contradict each other: \(reason)")
            return await trouble(transfer, failure, entries)
        }
        if let condition {
            transfer.record.partial?.condition = condition.rawValue
        } else {
            // They are not continued any more; what takes their place has to come first.
            transfer.record.partial?.condition = RangeCondition.unusable.rawValue
            transfer.record.partial?.lossReason = reason
        }
        await ask(transfer, entries)
    }

    /// Writes the transfer down and asks the server.
    private func ask(_ start: ActiveTransfer, _ entries: [JournalEntry]) async {
        var transfer = start
        let id = transfer.record.id
        transfer.record.noteProgress()
        transfer.exchange = .starting
        active[id] = transfer
        guard await save(transfer.record, entries), active[id]?.stopping == nil, !isStopping else {
            release(id)
            return await pump()
        }
        await exchange(transfer)
        // A stop that came while there was nothing to stop.
        if let interruption = active[id]?.stopping { interrupt(id, interruption) }
    }

    /// Asks elsewhere where there is another URL; else ends the task or lets it wait, as the failure demands.
    ///
    /// - Parameter point: where on the way; nil where no exchange failed.
    func trouble(
        _ start: ActiveTransfer, _ failure: TransferFailure, after: RetryAfter? = nil, at point: FailurePoint? = nil,
        _ entries: [JournalEntry] = []
    ) async {
        var transfer = start
        if !failure.isPermanent, await excuse(transfer, failure, entries) { return }
        let hasAdvanced = transfer.record.hasAdvanced
        let blame = blame(failure, at: point, after, transfer)
        var outcome = SourceRound.Outcome(
            failure: failure, retryAfter: after, isOwn: transfer.round.isOwn, blame: blame)
        // One that brings bytes is not left for a broken connection.
        if failure.code.isOfServer || blame == .address, !hasAdvanced, mayAskElsewhere(transfer, failure),
            active[transfer.record.id]?.stopping == nil, !isStopping
        {
            guard let ended = transfer.round.advance(failure, after, blame) else {
                return await askElsewhere(transfer, failure, entries)
            }
            outcome = ended
        }
        await giveUp(transfer, outcome, entries)
    }

    /// The next of a download's URLs, right after another one failed.
    private func askElsewhere(
        _ start: ActiveTransfer, _ failure: TransferFailure, _ entries: [JournalEntry]
    ) async {
        var transfer = start
        transfer.repetitions = 0
        if transfer.record.partial?.mirror != transfer.round.mirror {
            transfer.ownPartial = transfer.ownPartial ?? transfer.record.partial
            transfer.record.partial?.leaveURL()
        }
        // Without its path and query, which may let people in.
        let origin = (try? TransferURL(parsing: transfer.round.url))?.origin ?? ""
        let entry = JournalEntry(
            time: now.date, decision: .mirrorAsked, task: transfer.record.id, error: failure, detail: "\(origin).")
        await ask(transfer, entries + [entry])
    }

    /// Nobody has the file now.
    private func giveUp(
        _ start: ActiveTransfer, _ outcome: SourceRound.Outcome, _ entries: [JournalEntry]
    ) async {
        var transfer = start
        let failure = outcome.failure
        transfer.returnFromMirrors()
        guard !failure.isPermanent else {
            var told = failure
            if !transfer.record.wrongSources.isEmpty { told.message += " Other URLs have sent the wrong file." }
            return await fail(transfer, told, entries)
        }
        let id = transfer.record.id
        let now = now
        if failure.code == .inputOutput { transfer.record.partial?.distrustUnsynced() }
        transfer.record.noteProgress()
        let hold = pause(transfer, outcome, now)
        let more = (try? transfer.record.apply(.hold(hold), now: now)) ?? []
        _ = await save(transfer.record, entries + more)
        logger.info(
            "Transfer has to wait",
            metadata: ["task": "\(id)", "code": "\(failure.code.rawValue)", "error": "\(failure.message)"])
        release(id)
        await pump()
    }

    func fail(_ start: ActiveTransfer, _ failure: TransferFailure, _ entries: [JournalEntry] = []) async {
        var transfer = start
        let id = transfer.record.id
        hosts.abandoned(way(of: transfer.record), began: transfer.startedAt)
        let token = Self.isResumable(transfer.record) ? Self.newToken() : nil
        let discarded = transfer.record
        let more = (try? transfer.record.apply(.fail(failure, file: nil, resumeData: token), now: now)) ?? []
        if await save(transfer.record, entries + more), token == nil { discard(discarded) }
        logger.info("Transfer failed", metadata: ["task": "\(id)", "code": "\(failure.code.rawValue)"])
        release(id)
        await pump()
    }

    /// The task is no longer active.
    func release(_ id: TaskID) {
        active[id] = nil
        endStart(id)
        wakeQuietWaiters(id)
    }

    /// Writes a task down together with its entries; false when that failed, which is dealt with.
    func save(_ record: TaskRecord, _ entries: [JournalEntry]) async -> Bool {
        await save([(record, entries)])
    }

    /// The same for many tasks, in one transaction.
    func save(
        _ changes: [(record: TaskRecord, entries: [JournalEntry])],
        also: @escaping @Sendable (StoreTransaction) throws -> Void = { _ in }
    ) async -> Bool {
        let now = now
        do {
            try await store.write { transaction in
                for (record, entries) in changes {
                    try transaction.update(record)
                    for entry in entries { try transaction.record(entry) }
                }
                try also(transaction)
                try transaction.putClock(now)
            }
            return true
        } catch {
            storeFailed(error)
            return false
        }
    }

    /// Whether a later task could continue from the bytes that are here, or at the server.
    static func isResumable(_ record: TaskRecord) -> Bool {
        if record.upload != nil { return true }
        guard record.kind == .download, record.method == "GET", let partial = record.partial, record.received > 0
        else { return false }
        return ExchangePlan(partial: partial.bytes(count: record.received, checksum: nil)).asksForRange
    }

    static func newToken() -> String {
        UUID().uuidString.lowercased().replacing("-", with: "")
    }

    private func lackOfSpace(_ record: TaskRecord, _ opened: OpenPartial) -> TransferFailure? {
        guard record.wait?.reason == .diskSpace, let path = record.partial?.path, let total = record.partial?.total,
            let free = PartialStorage.freeSpace(at: path)
        else { return nil }
        let needed = total - max(opened.count, opened.allocated)
        return needed > free ? DiskTrouble.noSpace(needed: needed, free: free) : nil
    }

    /// Questions asked again at once before the answers are taken for trouble.
    private static let repetitionLimit = 6
}

extension Verdict {
    /// Whether the answer shows that the host is well, whatever it thinks of the request.
    fileprivate var clearsHost: Bool {
        if case .retryLater = self { false } else { true }
    }
}

extension TransferFailure {
    /// Going on would need that bytes are given up, for a mirror that may not have them.
    static func keepsBytes(because reason: String) -> TransferFailure {
        TransferFailure(.resourceChanged, "A mirror does not go on with the bytes that are here: \(reason).")
    }
}

extension TransferFailure.Code {
    /// Whether another server could do better.
    fileprivate var isOfServer: Bool {
        switch self {
        case .cannotResolveHost, .cannotConnect, .connectionLost, .idleTimeout, .truncated, .tlsFailure, .protocolError,
            .serverUnavailable, .resourceChanged, .httpStatus, .tooManyRedirects, .redirectRefused, .untrustedServer:
            true
        case .proxyFailure, .diskFull, .inputOutput, .badURL, .unsupportedURL, .clientCertificate, .checksumMismatch,
            .sourceChanged, .sourceMissing, .destinationUnavailable, .tooLarge, .timedOut, .cancelled, .forceQuit:
            false
        }
    }
}
