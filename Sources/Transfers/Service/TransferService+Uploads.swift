import Clock
import Foundation
import Glibc
import Mounts
import NightshiftAPI
import Store

/// The requests of an upload, in the order that ``ResumableUpload`` decides, until the server has answered.
extension TransferService {
    func upload(_ start: ActiveTransfer) async {
        let record = start.record
        guard let source = record.sentFiles else {
            let failure = TransferFailure(.sourceMissing, "The upload has no source file.")
            return await tell(record.id) { $0.fail(failure, $1, &$2) }
        }
        guard let place = start.place else { return await upload(start, source, UploadFiles.open(source, of: record)) }
        active[record.id] = start
        // The queue of reports must not wait for another file system.
        reporting.yield { service in
            let opened = await service.fileSystems.run(place, .files, source.files.first?.path ?? "") {
                UploadFiles.open(source, of: record)
            } late: {
                if case .success(let files) = $0 { files.close() }
            }
            if let opened { await service.opened(record.id, start.wishes, source, opened, at: place) }
        }
    }

    /// Continues the start of an upload after another file system has opened its files.
    private func opened(
        _ id: TaskID, _ wishes: OwnerRequests, _ source: UploadSource, _ opened: Result<UploadFiles, TransferFailure>,
        at place: FileSystemKey
    ) async {
        guard var transfer = active[id], transfer.wishes === wishes, transfer.phase == .preparing else {
            if case .success(let files) = opened {
                fileSystems.post(place, .files, source.files.first?.path ?? "") { files.close() }
            }
            return
        }
        transfer.wishes.apply(to: &transfer.record)
        await upload(transfer, source, opened)
    }

    private func upload(
        _ start: ActiveTransfer, _ source: UploadSource, _ opened: Result<UploadFiles, TransferFailure>
    ) async {
        var transfer = start
        let record = transfer.record
        let files: UploadFiles
        do throws(TransferFailure) {
            files = try opened.get()
        } catch {
            let failure = error
            return await tell(record.id) { $0.uploadFailed(failure, $1, &$2) }
        }
        var upload =
            transfer.upload
            ?? ResumableUpload(
                record.uploadTarget(source), resource: record.upload, uploadProtocol: uploadProtocol(of: record))
        if transfer.upload == nil {
            transfer.startCount = upload.resource?.offset ?? 0
            transfer.record.noteStart()
        }
        let request = upload.next()
        let id = record.id
        let answer = AnswerFile(of: id, in: environment.paths.files.path)
        let receiver = UploadReceiver(upload, request, answer: answer, wallSeconds: now.wallSeconds) {
            [reporting] receiver, report in
            switch report {
            case .accepted: reporting.yield { await $0.uploadKept(id, receiver) }
            case .ended(let end): reporting.yield { await $0.uploadEnded(id, receiver, end) }
            }
        }
        var wire = wireRequest(record)
        transfer.shown = addAnswers(to: &wire, record)
        wire.apply(request)
        if let range = request.body { wire.body = UploadBody(files.pieces(range), meter: receiver.sent) }
        // A server that has just reported its offset expects the rest. A server that stores partial uploads may receive
        // the body early.
        wire.asksBeforeLargeBody = request.purpose == .create && hosts.uploadProtocol(of: record.origin) == nil
        // Repeating an append at the same offset is an error, and some servers then drop the upload.
        wire.mayRepeatBody = request.purpose != .append
        wire.place = transfer.place
        let handle = environment.transport.begin(wire, receiver: receiver)
        transfer.upload = upload
        transfer.exchange = .upload(receiver, handle, files)
        exchangeBegan(transfer)
    }

    /// Returns the protocol for a new upload of the task.
    private func uploadProtocol(of record: TaskRecord) -> UploadProtocol {
        switch record.request.resumption {
        case .plain: .plain
        case .tus: .tus
        // An upload in several requests would have to satisfy the condition in each of them.
        case .draft where record.request.asksConditionally, nil where record.request.asksConditionally: .plain
        case .draft, nil: hosts.uploadProtocol(of: record.origin) ?? .draft(.latest)
        }
    }

    /// Records the location at which the server stores the upload, while the upload is being sent.
    private func uploadKept(_ id: TaskID, _ receiver: UploadReceiver) async {
        guard let transfer = active[id], case .upload(let current, _, _) = transfer.exchange, current === receiver,
            let resource = receiver.upload.resource
        else { return }
        hostAnswered(transfer)
        hosts.learn(receiver.upload.uploadProtocol, of: transfer.record.origin)
        await tell(id) { run, context, _ in run.uploadKept(resource, context.now) }
    }

    private func uploadEnded(_ id: TaskID, _ receiver: UploadReceiver, _ end: ExchangeEnd) async {
        guard var transfer = active[id], case .upload(let current, _, let files) = transfer.exchange,
            current === receiver
        else { return await leftEnded(receiver.sent) }
        let closing = await onFileSystem(transfer.place, .files, "the upload's files") {
            defer { files.close() }
            return files.change
        }
        // The task may have been abandoned while another file system was busy.
        guard let change = closing, let latest = active[id], case .upload(let same, _, _) = latest.exchange,
            same === receiver
        else { return await leftClosed(receiver.sent) }
        if transfer.place != nil { transfer = latest }
        var upload = receiver.upload
        let handedOver = upload.progress(handedOver: receiver.sent.value)
        let oldProtocol = upload.uploadProtocol
        var verdict: UploadVerdict?
        let answer = UploadAnswer(end, file: receiver.answer.count)
        if answer != nil, let head = end.head {
            verdict = upload.answered(
                head, now: now.wallSeconds, isBehindPortal: bounds.isBehindPortal(transfer.record))
        } else {
            verdict = upload.broke()
        }
        if upload.uploadProtocol != oldProtocol { hosts.learn(upload.uploadProtocol, of: transfer.record.origin) }
        transfer.upload = upload
        var restart: String?
        if case .startAgain(let reason)? = verdict { restart = reason }
        let acknowledged = upload.resource?.offset ?? 0
        transfer.run.uploadCame(
            to: upload.resource, restart: restart,
            sent: verdict == .finished ? max(handedOver, acknowledged) : acknowledged, now)
        active[id] = transfer
        let point = end.placeOfFailure
        switch (end.outcome, verdict) {
        case (.challenged(let challenge), _): await tell(id) { run, _, _ in run.uploadQuestioned(challenge) }
        case (.cancelled, _) where transfer.stopping != nil || verdict == nil:
            await tell(id) { $0.uploadStopped($1, &$2) }
        case (_, _) where change != nil:
            guard let change else { return }
            await tell(id) { $0.uploadFailed(change, $1, &$2) }
        case (.failed(let failure), nil):
            await tell(id) { $0.troubled(failure, at: point, $1, &$2) }
        case (_, nil):
            let silence = TransferFailure(.protocolError, "The server sent no response.")
            await tell(id) { $0.troubled(silence, at: point, $1, &$2) }
        case (_, .finished?):
            guard let head = end.head, let answer else { return }
            await tell(id) { $0.uploadAnswered(head, answer, $1, &$2) }
        case (_, .proceed?), (_, .askAgain?), (_, .startAgain?):
            hostAnswered(transfer)
            let isQueried = receiver.request.purpose == .query
            await tell(id) { $0.uploadGoesOn(isQueried: isQueried, $1, &$2) }
        case (_, .retryLater(let failure, let after)?):
            await tell(id) { $0.troubled(failure, after: after, at: point, $1, &$2) }
        case (_, .doubt(let failure)?):
            await tell(id) { $0.troubled(failure, $1, &$2) }
        case (_, .fail(let failure)?):
            await tell(id) { $0.uploadFailed(failure, $1, &$2) }
        }
    }

    /// Commits the progress of an upload. After a crash, the next run can thus detect that a server has lost bytes.
    func checkpointUpload(_ id: TaskID, _ receiver: UploadReceiver) async {
        guard let resource = receiver.upload.resource else { return }
        let sent = receiver.progress
        await tell(id) { run, context, _ in run.uploadCheckpoint(resource, sent: sent, context.now) }
    }
}

extension WireRequest {
    /// Turns this into a request of an upload.
    mutating func apply(_ request: UploadRequest) {
        method = request.method
        headers = request.headers
        self = moved(to: request.url, isTrusted: request.sharesSecrets)
    }
}
