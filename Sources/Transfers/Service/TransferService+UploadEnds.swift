import Clock
import Foundation
import Glibc
import NightshiftAPI
import Scheduler
import Store

/// Removal of the remains of uploads, on this machine and on servers.
extension TransferService {
    /// Stores the body of a server's response.
    ///
    /// - Returns: the path of the file; nil after a failure.
    func keep(_ body: AnswerBody, of id: TaskID) async -> String? {
        switch body {
        case .memory(let bytes):
            let path = environment.paths.files.appending(path: id.description).path
            return await disks.finish.run { Self.keep(bytes, at: path) } ? path : nil
        case .file:
            guard case .upload(let receiver, _, _)? = active[id]?.exchange else { return nil }
            return await disks.finish.run { receiver.answer.keep() }
        }
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

    /// Asks the server to delete an upload that is no longer wanted. Sends the request once, while a network is
    /// available, and only a few such requests at the same time. Other uploads expire on the server.
    func abandonUpload(_ record: TaskRecord) {
        guard let resource = record.upload, let files = record.sentFiles, !isStopping,
            let request = ResumableUpload(record.uploadTarget(files), resource: resource).cancellation(),
            bounds.beginCancellation(of: record)
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
        bounds.endCancellation()
    }

    /// Removes all bytes of an ended task that will not be resumed, on this machine and on the server.
    func discard(_ record: TaskRecord) {
        removeSoon(record) { [partials] in partials.discard(record) }
        sources.remove(record)
        abandonUpload(record)
    }

    /// Removes the bytes of many tasks without blocking the actor. Returns when the bytes on the service's own file
    /// system are gone.
    func discard(_ records: [TaskRecord]) async {
        let own = records.filter { fileSystem(of: $0) == nil }
        for record in records where fileSystem(of: record) != nil { discard(record) }
        await disks.removal.run { [partials, sources] in
            for record in own {
                partials.discard(record)
                sources.remove(record)
            }
        }
        for record in own { abandonUpload(record) }
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
