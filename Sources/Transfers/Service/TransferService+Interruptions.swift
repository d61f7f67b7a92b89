import Device
import Foundation
import Glibc
import NightshiftAPI
import Store

/// Exchanges that the service itself ends.
extension TransferService {
    /// Ends the exchange of a task; what follows is decided when it has ended.
    func interrupt(_ id: TaskID, _ reason: WaitReason) {
        interrupt(id, .wait(reason))
    }

    func interrupt(_ id: TaskID, _ interruption: Interruption) {
        active[id]?.stopping = interruption
        for handle in active[id]?.handles ?? [] { handle.cancel() }
    }

    /// The service itself ended the exchange; what it brought is kept.
    func interrupted(_ start: ActiveTransfer, _ descriptor: Int32?, _ entries: [JournalEntry]) async {
        var transfer = start
        let id = transfer.record.id
        let interruption = transfer.stopping ?? .wait(.starting)
        if let descriptor {
            let synced = await disks.sync.run { fdatasync(descriptor) == 0 }
            close(descriptor)
            if !synced {
                transfer.record.partial?.distrustUnsynced()
            } else if transfer.isAccepted {
                transfer.record.partial?.noteSynced(transfer.record.received)
            }
        }
        if case .reconnect = interruption { return await reconnect(transfer, entries) }
        transfer.returnFromMirrors()
        hosts.abandoned(way(of: transfer.record), began: transfer.startedAt)
        var more = apply(
            .interrupt(interruption.reason, detail: interruption.detail), to: &transfer.record, now: now)
        for index in more.indices { more[index].inputs = interruption.inputs }
        // Without the commit the older row holds, and the bytes behind it are found by the file's length.
        _ = await save(transfer.record, entries + more)
        release(id)
        await pump()
    }

    /// Goes on at once over a new connection: the old one is to blame, not the host.
    func reconnect(_ start: ActiveTransfer, _ entries: [JournalEntry]) async {
        var transfer = start
        let id = transfer.record.id
        // Somebody may have wanted it to stop while its bytes were synced.
        if let latest = active[id]?.stopping { transfer.stopping = latest }
        if case .reconnect? = transfer.stopping { transfer.stopping = nil }
        transfer.exchange = .starting
        transfer.probation = nil
        transfer.record.attempts += 1
        active[id] = transfer
        let entry = JournalEntry(time: now.date, decision: .reconnected, task: id)
        guard await save(transfer.record, entries + [entry]), let latest = active[id], !isStopping else {
            hosts.abandoned(way(of: transfer.record), began: transfer.startedAt)
            release(id)
            return await pump()
        }
        guard latest.stopping == nil else { return await interrupted(latest, nil, []) }
        await exchange(latest)
        // A stop that came while there was nothing to stop.
        if let interruption = active[id]?.stopping { interrupt(id, interruption) }
    }

    /// Whether an exchange that failed did so for what the device does, not for what the host does.
    ///
    /// - Returns: false where the failure is to be dealt with as any other.
    func excuse(_ transfer: ActiveTransfer, _ failure: TransferFailure, _ entries: [JournalEntry]) async -> Bool {
        guard failure.code.isOfConnection else { return false }
        if case .hold? = transfer.stopping {
            await interrupted(transfer, nil, entries)
            return true
        }
        guard transfer.probation != nil, !transfer.isEnding, hold(transfer.record) == nil else { return false }
        await reconnect(transfer, entries)
        return true
    }
}

extension TransferFailure.Code {
    /// Whether a network that goes away looks like this.
    fileprivate var isOfConnection: Bool {
        switch self {
        case .cannotResolveHost, .cannotConnect, .connectionLost, .idleTimeout, .truncated: true
        default: false
        }
    }
}
