import Clock
import Executors
import Glibc
import Mounts
import NightshiftAPI
import Scheduler
import Sessions
import Store

/// The requests of an upload, in the order that ``ResumableUpload`` decides, and requests to delete an upload.
extension TransferService {
    /// Sends the next request of an upload.
    func upload(
        _ transfer: ActiveTransfer, _ source: UploadSource, _ opened: Result<UploadFiles, TransferFailure>
    ) async {
        let record = transfer.record
        let uploadFiles: UploadFiles
        do throws(TransferFailure) {
            uploadFiles = try opened.get()
        } catch {
            let failure = error
            return await send(record.id) { $0.uploadFailed(failure, $1, &$2) }
        }
        var upload =
            transfer.upload
            ?? ResumableUpload(
                record.uploadTarget(source), resource: record.upload,
                uploadProtocol: hosts.uploadProtocol(for: record))
        if transfer.upload == nil { transfer.run.uploadRequested(from: upload.resource?.offset ?? 0) }
        let request = upload.next()
        let id = record.id
        let receiver = UploadReceiver(
            upload, request, answer: AnswerFile(of: id, in: files.kept), wallSeconds: now.wallSeconds
        ) { [reporting] receiver, report in
            switch report {
            case .accepted: reporting.yield { await $0.uploadKept(id, receiver) }
            case .ended(let end): reporting.yield { await $0.uploadEnded(id, receiver, end) }
            }
        }
        var wire = wireRequest(transfer)
        wire.apply(request)
        if let range = request.body { wire.body = UploadBody(uploadFiles.pieces(range), meter: receiver.sent) }
        // A server that has just reported its offset expects the rest. A server that stores partial uploads may receive
        // the body early.
        wire.asksBeforeLargeBody = request.purpose == .create && hosts.uploadProtocol(of: record.origin) == nil
        // Repeating an append at the same offset is an error, and some servers then drop the upload.
        wire.mayRepeatBody = request.purpose != .append
        transfer.upload = upload
        let handle = environment.transport.begin(wire, receiver: receiver)
        exchangeBegan(transfer, .upload(receiver, handle, uploadFiles))
    }

    /// Returns the transfer that uses this receiver.
    private func transfer(_ id: TaskID, _ receiver: UploadReceiver) -> (ActiveTransfer, UploadFiles)? {
        guard let transfer = active[id], case .upload(let current, _, let files) = transfer.exchange,
            current === receiver
        else { return nil }
        return (transfer, files)
    }

    /// Records the location at which the server stores the upload, while the upload is being sent.
    private func uploadKept(_ id: TaskID, _ receiver: UploadReceiver) async {
        guard let (transfer, _) = transfer(id, receiver), let resource = receiver.upload.resource else { return }
        hostAnswered(transfer)
        hosts.learn(receiver.upload.uploadProtocol, of: transfer.record.origin)
        await send(id) { run, context, _ in run.uploadKept(resource, context.now) }
    }

    private func uploadEnded(_ id: TaskID, _ receiver: UploadReceiver, _ end: ExchangeEnd) async {
        guard let (transfer, uploadFiles) = transfer(id, receiver) else { return await leftEnded(receiver.sent) }
        let closing = await files.run(at: transfer.place, .files, "the upload's files") {
            defer { uploadFiles.close() }
            return uploadFiles.change
        }
        // The task may have been abandoned while another file system was busy.
        guard let change = closing, self.transfer(id, receiver) != nil else {
            return await leftEnded(receiver.sent, isClosed: true)
        }
        var upload = receiver.upload
        let (handedOver, former) = (upload.progress(handedOver: receiver.sent.value), upload.uploadProtocol)
        let answer = UploadAnswer(end, file: receiver.answer.count)
        let verdict =
            if answer != nil, let head = end.head {
                upload.answered(
                    head, now: now.wallSeconds, isBehindPortal: bounds.isBehindPortal(transfer.record))
            } else {
                upload.broke()
            }
        if upload.uploadProtocol != former { hosts.learn(upload.uploadProtocol, of: transfer.record.origin) }
        transfer.upload = upload
        let facts = UploadEnd(
            exchange: end, verdict: verdict, answer: answer, change: change, resource: upload.resource,
            handedOver: handedOver, isQuery: receiver.request.purpose == .query)
        await send(id) { $0.uploadEnded(facts, $1, &$2) }
    }

    // MARK: - The end of an upload

    /// Stores the body of a server's response.
    ///
    /// - Returns: the path of the file; nil after a failure.
    func keep(_ body: AnswerBody, of id: TaskID) async -> String? {
        switch body {
        case .memory(let bytes):
            let path = "\(files.kept)/\(id)"
            return await files.disks.finish.run { AnswerFile.write(bytes, to: path) } ? path : nil
        case .file:
            guard case .upload(let receiver, _, _)? = active[id]?.exchange else { return nil }
            return await files.disks.finish.run { receiver.answer.keep() }
        }
    }

    /// Asks the server to delete an upload that is no longer wanted. Sends the request once, while a network is
    /// available, and only a few such requests at the same time. Other uploads expire on the server.
    func abandonUpload(_ record: TaskRecord) {
        guard let resource = record.upload, let sent = record.sentFiles, !isStopping,
            let request = ResumableUpload(record.uploadTarget(sent), resource: resource).cancellation(),
            bounds.beginCancellation(of: record)
        else { return }
        var wire = environment.fallback.request(for: record)
        _ = wire.add(appSessions[answersOf: record.session], of: record)
        wire.asksAbout = []
        wire.apply(request)
        wire.idleTimeout = min(wire.idleTimeout, Self.cancellationTimeout)
        let receiver = CancellationReceiver { [reporting] in reporting.yield { await $0.cancellationEnded() } }
        _ = environment.transport.begin(wire, receiver: receiver)
    }

    private func cancellationEnded() {
        bounds.endCancellation()
    }

    /// Removes all bytes of an ended task that will not be resumed, on this machine and on the server.
    func discard(_ record: TaskRecord) {
        files.discard(record)
        abandonUpload(record)
    }

    /// The timeout of the request in seconds.
    private static let cancellationTimeout: Double = 10
}

/// A receiver for a response that is ignored.
private final class CancellationReceiver: ExchangeReceiver {
    private let ended: @Sendable () -> Void

    init(ended: @escaping @Sendable () -> Void) {
        self.ended = ended
    }

    func exchange(received head: ResponseHead) -> BodyDisposition { .discard }

    func exchangeEnded(_ end: ExchangeEnd) { ended() }
}
