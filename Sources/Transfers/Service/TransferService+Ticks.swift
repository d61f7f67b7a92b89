import Device
import Glibc
import NightshiftAPI
import Store

/// What is done every second while transfers run, and never otherwise.
extension TransferService {
    func startTicker() {
        guard ticker == nil, !isStopping else { return }
        ticker = Task { await self.tick() }
    }

    private func tick() async {
        while !active.isEmpty, !isStopping {
            let next = min(now.bootSeconds + 1, nextProbationEnd ?? .infinity)
            guard (try? await environment.clock.sleep(untilBootSeconds: next)) != nil else { break }
            endProbations()
            let time = now.bootSeconds
            for id in active.keys {
                if let count = active[id]?.count { active[id]?.speed.read(count, at: time) }
            }
            store.journalSignal.pulse()
            store.messageSignal.pulse()
            for id in active.keys { await checkpoint(id) }
        }
        ticker = nil
        if !active.isEmpty, !isStopping { startTicker() }
    }

    /// Syncs a download's bytes and writes down how many they are.
    private func checkpoint(_ id: TaskID) async {
        let now = now
        guard let transfer = active[id], transfer.isAccepted, case .download(let receiver, _) = transfer.exchange,
            let partial = transfer.record.partial
        else { return }
        let synced = partial.synced
        let position = receiver.position.value
        let isDue =
            position - synced >= Self.checkpointBytes
            || now.bootSeconds - transfer.checkpointAt >= Self.checkpointSeconds
        guard position > synced, isDue else { return }
        // Opened anew, not duplicated: the exchange may close its own meanwhile, and the kernel tells each open file once
        // of bytes that it could not write. The sync at the end has to hear of them too.
        let own = open(partial.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard own >= 0 else { return }
        let isSynced = await syncDisk.run {
            defer { close(own) }
            return fdatasync(own) == 0
        }
        guard var current = active[id], case .download(let same, _) = current.exchange, same === receiver else {
            return
        }
        guard isSynced else {
            current.record.partial?.distrustUnsynced()
            active[id] = current
            return interrupt(id, .retry)
        }
        current.checkpointAt = now.bootSeconds
        current.record.received = position
        _ = try? current.record.apply(.checkpoint(synced: position), now: now)
        active[id] = current
        if !(await save(current.record, [])) { interrupt(id, .diskSpace) }
    }

    /// Bytes after which a checkpoint is due.
    private static let checkpointBytes: Int64 = 8 << 20
    /// Seconds after which a checkpoint is due.
    private static let checkpointSeconds: Double = 2
}
