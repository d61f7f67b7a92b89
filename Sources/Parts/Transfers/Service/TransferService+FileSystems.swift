import Clock
import Foundation
import Glibc
import Logging
import Mounts
import NightshiftAPI
import Store

/// Calls to file systems other than the service's own, and the handling of transfers whose file systems do not respond.
extension TransferService {
    // MARK: - Abandoned exchanges

    /// Abandons the exchange of a stopping task after a short time if another file system has not responded.
    func leaveSoon(_ transfer: ActiveTransfer) {
        guard transfer.place != nil, transfer.run.canBeLeft else { return }
        let (id, attempt) = (transfer.record.id, transfer.attempt)
        reporting.yield { service in
            let until = service.now.bootSeconds + Self.leavingSeconds
            try? await service.environment.clock.sleep(untilBootSeconds: until)
            await service.leave(id, attempt)
        }
    }

    private func leave(_ id: TaskID, _ attempt: Int) async {
        guard let transfer = active[id], transfer.attempt == attempt, transfer.run.canBeLeft else { return }
        if let exchange = LeftExchanges.Exchange(transfer), let ended = left.add(exchange) { close(ended) }
        transfer.exchange = .starting
        await send(id) { $0.left($1, &$2) }
    }

    private func close(_ left: LeftExchanges.Exchange) {
        for file in left.files { files.close(file, at: left.place) }
        if let sources = left.sources { fileSystems.post(left.place, .files, "the upload's files") { sources.close() } }
    }

    /// Handles the end of a connection of an abandoned exchange.
    ///
    /// - Parameter isClosed: whether the files of the exchange were closed.
    func leftEnded(_ position: ByteMeter, _ files: [Int32] = [], isClosed: Bool = false) async {
        guard let ended = left.ended(position, files) else { return }
        if !isClosed { close(ended) }
        await schedule()
    }

    /// The number of seconds that a stopping task waits for its file system: longer than a working file system needs,
    /// and too short for people to notice.
    private static let leavingSeconds: Double = 0.4

    // MARK: - Silent file systems

    func fileSystemsChanged(_ change: FileSystems.Change) async {
        switch change {
        case .callBegan: atTimes(\.silence, { $0.fileSystems.nextDeadline }, { await $0.watchForSilence() })
        case .answersAgain:
            await commit { try $0.endWaits(for: .destinationSilent) }
            await schedule()
        }
    }

    private func watchForSilence() async {
        let found = fileSystems.look()
        guard !found.isEmpty else { return }
        for place in found {
            guard let silence = fileSystems.silence(of: place) else { continue }
            logger.warning("A file system does not respond", metadata: ["path": "\(silence.path)"])
        }
        // The tasks of silent file systems no longer use connection slots.
        await schedule()
    }

    /// Checks that the transport's threads for other file systems respond. Called once a second while these threads are
    /// in use.
    func askThreads() {
        for transfer in active.values {
            guard let place = transfer.place, transfer.run.phase == .exchanging,
                awaitedThreads.insert(place).inserted
            else { continue }
            let call = fileSystems.begin(place, transfer.record.partial?.path ?? transfer.path)
            environment.transport.answer(from: place) { [fileSystems, reporting] in
                fileSystems.end(call)
                reporting.yield { await $0.threadAnswered(place) }
            }
        }
    }

    private func threadAnswered(_ place: FileSystemKey) {
        awaitedThreads.remove(place)
    }

    /// Returns the wait of a task whose file system does not respond; nil if the file system responds.
    func silentWait(at place: FileSystemKey?, _ now: ClockReading) -> Wait? {
        fileSystems.silence(of: place).map { Wait($0, now) }
    }

    /// The transfers that use a connection slot. Transfers on a silent file system are not included, so that they do
    /// not prevent others from starting.
    var placeHolders: [ActiveTransfer] {
        let silent = fileSystems.silences
        guard !silent.isEmpty else { return Array(active.values) }
        return active.values.filter { $0.place.map { silent[$0] == nil } ?? true }
    }

    // MARK: - Stopping

    /// Waits briefly for files that are being published on other file systems.
    func waitForOtherFileSystems() async {
        let waiting = finishing.tasks.filter { finishing.place(of: $0) != nil }
        guard !waiting.isEmpty else { return }
        let until = now.bootSeconds + Self.leavingSeconds
        reporting.yield { service in
            try? await service.environment.clock.sleep(untilBootSeconds: until)
            await service.giveUpFileSystems()
        }
        for id in waiting { await quiet(id) }
    }

    private func giveUpFileSystems() {
        fileSystems.giveUp()
        for id in finishing.tasks where finishing.place(of: id) != nil {
            finishing.end(id)
            claims.wakeWaiters(for: id)
        }
    }
}
