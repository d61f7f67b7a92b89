import Clock
import Foundation
import Glibc
import NightshiftAPI
import Scheduler
import Store

/// What becomes of an upload that is answered, or given up.
extension TransferService {
    func uploadAnswered(
        _ start: ActiveTransfer, _ head: ResponseHead, _ body: [UInt8]
    ) async {
        var transfer = start
        let request = transfer.record.request
        let failure = TransferFailure(
            .httpStatus, "The server answered \(HTTPStatus.name(head.status)).", status: head.status)
        if request.retryPolicy == .transientResponses, HTTPStatus.isTransient(head.status) {
            let after = head.headers.first("Retry-After").flatMap(RetryAfter.init(field:))
            let passing = TransferFailure(.serverUnavailable, failure.message, status: head.status)
            let point = FailurePoint(head)
            return await trouble(transfer, passing, after: after, at: point)
        }
        hostAnswered(transfer.record)
        let isRefused = (request.failsOnHTTPError ?? false) && !(200..<300).contains(head.status)
        transfer.run.uploadAnswered(head, now)
        active[transfer.record.id] = transfer
        await finishUpload(transfer, body, isRefused ? failure : nil)
    }

    /// Keeps an upload's response body and ends the task.
    private func finishUpload(
        _ start: ActiveTransfer, _ body: [UInt8], _ failure: TransferFailure?
    ) async {
        var record = start.record
        let id = record.id
        let path = environment.paths.files.appending(path: id.description).path
        var kept: String?
        if !body.isEmpty {
            guard await disks.finish.run({ Self.keep(body, at: path) }) else {
                return await trouble(start, DiskTrouble.noSpace(needed: Int64(body.count), free: 0))
            }
            kept = path
        }
        let now = now
        var entries = start.entries
        record.received = Int64(body.count)
        if let failure {
            entries += apply(.fail(failure, file: kept, resumeData: nil), to: &record, now: now)
        } else {
            entries += apply(.finish(nil), to: &record, now: now)
            entries += apply(.complete(file: kept, verified: []), to: &record, now: now)
        }
        if !(await save(record, entries)) {
            // The upload is done, and not written down: it would be sent again, so writing is tried until it works.
            return await finishUploadLater(start, body, failure)
        }
        sources.remove(record)
        release(id)
        await pump()
    }

    private func finishUploadLater(
        _ start: ActiveTransfer, _ body: [UInt8], _ failure: TransferFailure?
    ) async {
        guard !isStopping else { return release(start.record.id) }
        try? await environment.clock.sleep(untilBootSeconds: now.bootSeconds + Self.storePause)
        await finishUpload(start, body, failure)
    }

    private static func keep(_ body: [UInt8], at path: String) -> Bool {
        guard case .success(let file) = PartialStorage.create(path, total: nil) else { return false }
        let descriptor = file.descriptor
        defer { close(descriptor) }
        guard file.path == path else { return false }
        var offset = 0
        while offset < body.count {
            let count = body[offset...].withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            guard count > 0 else { return false }
            offset += count
        }
        return fdatasync(descriptor) == 0
    }

    /// Tells the server that an upload is not wanted any more. Once, while there is a network, and a few at a time: what is not
    /// told expires with the server.
    func abandonUpload(_ record: TaskRecord) {
        guard let resource = record.upload, let files = record.sentFiles, !isStopping,
            moment.conditions.network.isAvailable || record.needs.isLoopback,
            let request = ResumableUpload(record.uploadTarget(files), resource: resource).cancellation(),
            cancellations.begin()
        else { return }
        var wire = wireRequest(record)
        _ = addAnswers(to: &wire, record)
        wire.asksAbout = []
        wire.apply(request)
        wire.idleTimeout = min(wire.idleTimeout, Self.cancellationTimeout)
        let receiver = CancellationReceiver { [reporting] in reporting.yield { await $0.cancellationEnded() } }
        _ = environment.transport.begin(wire, receiver: receiver)
    }

    private func cancellationEnded() {
        cancellations.end()
    }

    /// Removes every byte of a task that has ended and that nobody continues, here and at the server.
    func discard(_ record: TaskRecord) {
        partials.discard(record)
        sources.remove(record)
        abandonUpload(record)
    }

    /// The same of many, away from the actor. Returns when the bytes here are gone.
    func discard(_ records: [TaskRecord]) async {
        await disks.removal.run { [partials, sources] in
            for record in records {
                partials.discard(record)
                sources.remove(record)
            }
        }
        for record in records { abandonUpload(record) }
    }

    /// Seconds.
    private static let cancellationTimeout: Double = 10
}

/// Waits for an answer that does not matter.
private final class CancellationReceiver: ExchangeReceiver {
    private let ended: @Sendable () -> Void

    init(ended: @escaping @Sendable () -> Void) {
        self.ended = ended
    }

    func exchange(received head: ResponseHead) -> BodyDisposition { .discard }

    func exchangeEnded(_ end: ExchangeEnd) { ended() }
}
