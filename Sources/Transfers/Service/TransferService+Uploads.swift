import Device
import Foundation
import Glibc
import NightshiftAPI
import Store

/// Sending a file: one exchange, and what the server says of it.
extension TransferService {
    func upload(_ start: ActiveTransfer) async {
        var transfer = start
        let record = transfer.record
        let path = record.request.source ?? ""
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let failure = TransferFailure(
                .sourceMissing, "\(path) cannot be read: \(String(cString: strerror(errno))).")
            return await fail(transfer, failure)
        }
        guard let source = record.source, FileIdentity(descriptor: descriptor) == source else {
            close(descriptor)
            return await fail(transfer, Self.sourceChanged(path))
        }
        let id = record.id
        let receiver = UploadReceiver { [reporting] receiver, report in
            guard case .ended(let end) = report else { return }
            reporting.yield { await $0.uploadEnded(id, receiver, end) }
        }
        var request = wireRequest(record)
        transfer.shown = fillIn(&request, record)
        request.body = UploadBody(
            [.file(descriptor: descriptor, offset: 0, size: source.size)], meter: receiver.sent)
        let handle = environment.transport.begin(request, receiver: receiver)
        transfer.exchange = .upload(receiver, handle, descriptor: descriptor)
        active[id] = transfer
    }

    private func uploadEnded(_ id: TaskID, _ receiver: UploadReceiver, _ end: ExchangeEnd) async {
        guard var transfer = active[id], case .upload(let current, _, let descriptor) = transfer.exchange,
            current === receiver
        else { return }
        let path = transfer.record.request.source ?? ""
        let isUnchanged =
            FileIdentity(descriptor: descriptor) == transfer.record.source
            && FileIdentity(path: path) == transfer.record.source
        close(descriptor)
        transfer.record.sent = receiver.sent.value
        active[id] = transfer
        switch end.outcome {
        case .cancelled: await interrupted(transfer, nil, [])
        case .challenged(let challenge): await challenged(transfer, challenge, [])
        case .failed(let failure):
            guard isUnchanged else { return await fail(transfer, Self.sourceChanged(path)) }
            await trouble(transfer, failure, progressed: false)
        case .complete:
            guard isUnchanged else { return await fail(transfer, Self.sourceChanged(path)) }
            guard let head = end.head else {
                return await trouble(
                    transfer, TransferFailure(.protocolError, "The server sent no response."), progressed: false)
            }
            await uploadAnswered(transfer, head, end.body)
        }
    }

    private func uploadAnswered(_ start: ActiveTransfer, _ head: ResponseHead, _ body: [UInt8]) async {
        var transfer = start
        let request = transfer.record.request
        let failure = TransferFailure(
            .httpStatus, "The server answered \(head.status) \(HTTPStatus.name(head.status)).", status: head.status)
        if request.retryPolicy == .transientResponses, HTTPStatus.isTransient(head.status) {
            let after = head.headers.first("Retry-After").flatMap(RetryAfter.init(field:))
            let passing = TransferFailure(.serverUnavailable, failure.message, status: head.status)
            return await trouble(transfer, passing, after: after, progressed: false)
        }
        hostAnswered(transfer.record.origin)
        transfer.record.response = ResponseSummary(head)
        transfer.record.currentURL = head.url == request.url ? nil : head.url
        transfer.record.startedAt = transfer.record.startedAt ?? now.wallSeconds
        await finishUpload(
            transfer, body, (request.failsOnHTTPError ?? false) && !(200..<300).contains(head.status) ? failure : nil)
    }

    /// Keeps an upload's response body and ends the task.
    private func finishUpload(_ start: ActiveTransfer, _ body: [UInt8], _ failure: TransferFailure?) async {
        var record = start.record
        let id = record.id
        let path = environment.paths.files.appending(path: id.description).path
        var kept: String?
        if !body.isEmpty {
            guard await finishDisk.run({ Self.keep(body, at: path) }) else {
                return await trouble(start, DiskTrouble.noSpace(needed: Int64(body.count), free: 0), progressed: false)
            }
            kept = path
        }
        let now = now
        var entries: [JournalEntry] = []
        record.received = Int64(body.count)
        if let failure {
            entries += (try? record.apply(.fail(failure, file: kept, resumeData: nil), now: now)) ?? []
        } else {
            entries += (try? record.apply(.finish(nil), now: now)) ?? []
            entries += (try? record.apply(.complete(file: kept, verified: []), now: now)) ?? []
        }
        if !(await save(record, entries)) {
            // The upload is done, and not written down: it would be sent again, so writing is tried until it works.
            return await finishUploadLater(start, body, failure)
        }
        release(id)
        await pump()
    }

    private func finishUploadLater(_ start: ActiveTransfer, _ body: [UInt8], _ failure: TransferFailure?) async {
        guard !isStopping else { return release(start.record.id) }
        try? await environment.clock.sleep(untilBootSeconds: now.bootSeconds + Self.storePause)
        await finishUpload(start, body, failure)
    }

    private static func keep(_ body: [UInt8], at path: String) -> Bool {
        guard case .success(let descriptor) = PartialStorage.create(path, total: nil) else { return false }
        defer { close(descriptor) }
        var offset = 0
        while offset < body.count {
            let count = body[offset...].withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            guard count > 0 else { return false }
            offset += count
        }
        return fdatasync(descriptor) == 0
    }

    private static func sourceChanged(_ path: String) -> TransferFailure {
        TransferFailure(
            .sourceChanged,
            "\(path) has changed since the upload was asked for; what the server got may be neither version. Start it again."
        )
    }
}
