import Clock
import Foundation
import Glibc
import NightshiftAPI
import Store

/// Sending: request after request, as ``ResumableUpload`` says, until the server has answered.
extension TransferService {
    func upload(_ start: ActiveTransfer) async {
        var transfer = start
        let record = transfer.record
        guard let source = record.sentFiles else {
            return await fail(transfer, TransferFailure(.sourceMissing, "The upload has no file."))
        }
        let files: UploadFiles
        do throws(TransferFailure) {
            files = try UploadFiles(opening: source, of: record)
        } catch {
            return await failForGood(transfer, error)
        }
        var upload =
            transfer.upload
            ?? ResumableUpload(record.uploadTarget(source), resource: record.upload, uploadProtocol: manner(of: record))
        if transfer.upload == nil {
            transfer.startCount = upload.resource?.offset ?? 0
            transfer.record.noteStart()
        }
        let request = upload.next()
        let id = record.id
        let receiver = UploadReceiver(upload, request, wallSeconds: now.wallSeconds) {
            [reporting] receiver, report in
            switch report {
            case .accepted: reporting.yield { await $0.uploadKept(id, receiver) }
            case .ended(let end): reporting.yield { await $0.uploadEnded(id, receiver, end) }
            }
        }
        var wire = wireRequest(record)
        transfer.shown = addAnswers(to: &wire, record)
        wire.take(request)
        if let range = request.body { wire.body = UploadBody(files.pieces(range), meter: receiver.sent) }
        // A server that has just told its offset wants the rest, and one that keeps what arrives may get it early.
        wire.asksBeforeLargeBody = request.purpose == .create && uploadManners[record.origin] == nil
        // Sent again from the same offset, an append is a mistake, for which some servers drop the upload.
        wire.mayRepeatBody = request.purpose != .append
        let handle = environment.transport.begin(wire, receiver: receiver)
        transfer.upload = upload
        transfer.exchange = .upload(receiver, handle, files)
        active[id] = transfer
    }

    /// How a new upload of the task begins.
    private func manner(of record: TaskRecord) -> UploadProtocol {
        switch record.request.resumption {
        case .plain: .plain
        case .tus: .tus
        // A condition would have to hold for each of several requests.
        case .draft where record.request.asksConditionally, nil where record.request.asksConditionally: .plain
        case .draft, nil: uploadManners[record.origin] ?? .draft(.latest)
        }
    }

    /// The server keeps what arrives: where, is written down while it does.
    private func uploadKept(_ id: TaskID, _ receiver: UploadReceiver) async {
        guard var transfer = active[id], case .upload(let current, _, _) = transfer.exchange, current === receiver,
            let resource = receiver.upload.resource
        else { return }
        hostAnswered(transfer.record)
        learn(receiver.upload.uploadProtocol, of: transfer.record.origin)
        let entries = (try? transfer.record.apply(.keep(resource), now: now)) ?? []
        transfer.checkpointAt = now.bootSeconds
        active[id] = transfer
        if !(await save(transfer.record, entries)) { interrupt(id, .diskSpace) }
    }

    private func learn(_ manner: UploadProtocol, of origin: String) {
        if case .tus = manner { return }
        if uploadManners.count >= Self.knownManners { uploadManners = [:] }
        uploadManners[origin] = manner
    }

    private func uploadEnded(_ id: TaskID, _ receiver: UploadReceiver, _ end: ExchangeEnd) async {
        guard var transfer = active[id], case .upload(let current, _, let files) = transfer.exchange,
            current === receiver
        else { return }
        let change = files.change
        files.close()
        var upload = receiver.upload
        let handedOver = upload.progress(handedOver: receiver.sent.value)
        let oldManner = upload.uploadProtocol
        var verdict: UploadVerdict?
        if case .complete = end.outcome, let head = end.head {
            verdict = upload.answered(head, now: now.wallSeconds)
        } else {
            verdict = upload.broke()
        }
        if upload.uploadProtocol != oldManner { learn(upload.uploadProtocol, of: transfer.record.origin) }
        transfer.upload = upload
        var entries: [JournalEntry] = []
        if case .startAgain(let reason)? = verdict {
            entries = (try? transfer.record.apply(.sendAgain(reason: reason), now: now)) ?? []
        }
        if let resource = upload.resource {
            entries += (try? transfer.record.apply(.keep(resource), now: now)) ?? []
        } else {
            transfer.record.upload = nil
        }
        let acknowledged = upload.resource?.offset ?? 0
        transfer.record.sent = verdict == .finished ? max(handedOver, acknowledged) : acknowledged
        active[id] = transfer
        switch end.outcome {
        case .challenged(let challenge): return await challenged(transfer, challenge, entries)
        case .cancelled where transfer.stopping != nil || verdict == nil:
            return await interrupted(transfer, nil, entries)
        default: break
        }
        if let change { return await failForGood(transfer, change, entries) }
        await conclude(transfer, receiver.request, verdict, end, entries)
    }

    private func conclude(
        _ transfer: ActiveTransfer, _ request: UploadRequest, _ verdict: UploadVerdict?, _ end: ExchangeEnd,
        _ entries: [JournalEntry]
    ) async {
        let point = failurePoint(end)
        switch verdict {
        case nil:
            let silence = TransferFailure(.protocolError, "The server sent no response.")
            guard case .failed(let failure) = end.outcome else {
                return await trouble(transfer, silence, at: point, entries)
            }
            await trouble(transfer, failure, at: point, entries)
        case .finished?:
            guard let head = end.head else { return }
            await uploadAnswered(transfer, head, end.body, entries)
        case .proceed?, .askAgain?, .startAgain?:
            hostAnswered(transfer.record)
            await goOn(transfer, after: request, entries)
        case .retryLater(let failure, let after)?:
            await trouble(transfer, failure, after: after, at: point, entries)
        case .fail(let failure)?:
            await failForGood(transfer, failure, entries)
        }
    }

    /// Sends the upload's next request at once.
    private func goOn(_ start: ActiveTransfer, after request: UploadRequest, _ entries: [JournalEntry]) async {
        var transfer = start
        let id = transfer.record.id
        var entries = entries
        if request.purpose == .query, let resource = transfer.record.upload {
            entries += (try? transfer.record.apply(.sendOn(from: resource.offset), now: now)) ?? []
        }
        transfer.exchange = .starting
        active[id] = transfer
        // Parts follow each other faster than their offsets need be written down.
        if !entries.isEmpty {
            guard await save(transfer.record, entries) else {
                release(id)
                return await pump()
            }
        }
        guard let latest = active[id] else { return }
        guard latest.stopping == nil, !isStopping else { return await interrupted(latest, nil, []) }
        await exchange(latest)
        // A stop that came while there was nothing to stop.
        if let interruption = active[id]?.stopping { interrupt(id, interruption) }
    }

    /// Ends an upload that nothing can be continued of.
    private func failForGood(
        _ start: ActiveTransfer, _ failure: TransferFailure, _ entries: [JournalEntry] = []
    ) async {
        var transfer = start
        abandonUpload(transfer.record)
        transfer.record.upload = nil
        await fail(transfer, failure, entries)
    }

    /// Writes down how far an upload is, so that a server that forgets is found out after a crash too.
    func checkpointUpload(_ id: TaskID, _ receiver: UploadReceiver) async {
        guard var transfer = active[id], let known = transfer.record.upload, let resource = receiver.upload.resource,
            resource != known, now.bootSeconds - transfer.checkpointAt >= Self.checkpointSeconds
        else { return }
        _ = try? transfer.record.apply(.keep(resource), now: now)
        transfer.record.sent = receiver.progress
        transfer.checkpointAt = now.bootSeconds
        active[id] = transfer
        if !(await save(transfer.record, [])) { interrupt(id, .diskSpace) }
    }

    /// Origins whose way with uploads is remembered; more than a user's apps talk to.
    private static let knownManners = 1_000
}

extension WireRequest {
    /// Makes it a request of an upload.
    mutating func take(_ request: UploadRequest) {
        method = request.method
        headers = request.headers
        self = moved(to: request.url, isTrusted: request.sharesSecrets)
    }
}
