import NightshiftAPI
import Scheduler
import Store

/// Bytes that are not given up lightly, and not continued lightly either.
extension TransferService {
    /// The network that wanted somebody to log in does not any more, or is another one.
    func endPortalWaits() async {
        _ = try? await store.write { try $0.endPortalPauses() }
    }

    /// What is here is not what was written: it is not used, and the journal says so.
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

    /// Why a mirror is not asked for the gaps of a file; nil where it may be, or where it is not a mirror that is asked.
    func gapsObstacle(_ transfer: ActiveTransfer) -> TransferFailure? {
        guard !transfer.mayRestart, let partial = transfer.record.partial,
            partial.sourceIdentity(checksum: transfer.record.request.checksum) == nil
        else { return nil }
        return .keepsBytes(because: RetargetedBytes.unproven)
    }
}
