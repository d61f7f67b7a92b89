import NightshiftAPI
import Scheduler
import Store

/// Handling of bytes that need proof before the service discards or continues them.
extension TransferService {
    /// Ends the waits for a log-in, because the network no longer requires a log-in or the device uses another network.
    func endPortalWaits() async {
        _ = try? await store.write { try $0.endPortalPauses() }
    }

    /// Stops using the bytes on disk, because they are not the bytes that were written, and records that in the
    /// journal.
    func forgetBytes(_ transfer: inout ActiveTransfer, because reason: String) {
        guard let partial = transfer.record.partial else { return }
        let had = max(transfer.record.received, partial.synced)
        transfer.record.partial = nil
        transfer.record.received = 0
        guard had > 0 else { return }
        transfer.record.noteRestart()
        transfer.entries.append(
            JournalEntry(time: now.date, decision: .restarted, task: transfer.record.id, detail: reason))
    }

    /// Returns the reason why a mirror must not fill the gaps of a file. Returns nil if it may, or if the current URL
    /// is not a mirror.
    func gapsObstacle(_ transfer: ActiveTransfer) -> TransferFailure? {
        guard !transfer.mayRestart, let partial = transfer.record.partial,
            partial.sourceIdentity(checksum: transfer.record.request.checksum) == nil
        else { return nil }
        return .keepsBytes(because: RetargetedBytes.unproven)
    }
}
