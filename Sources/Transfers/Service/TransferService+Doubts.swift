import Clock
import NightshiftAPI
import Scheduler
import Store

/// Bytes that are not given up lightly, and not continued lightly either.
extension TransferService {
    /// Whether the network says that somebody has to log in before it can be used.
    func isBehindPortal(_ record: TaskRecord) -> Bool {
        moment.conditions.network.connectivity == .portal && !record.needs.isLoopback
    }

    /// The pause after an answer that is not believed.
    func doubtful(
        _ doubt: AnswerDoubt, _ failure: TransferFailure, _ isBehindPortal: Bool, _ now: ClockReading
    ) -> Hold {
        // Once somebody has logged in it goes on at once; a network that never says so is looked at again.
        let pause = isBehindPortal ? Self.portalPause : AnswerDoubts.pause(times: doubt.times)
        return Hold(
            reason: isBehindPortal ? .portal : .doubtfulAnswer, failure: failure,
            notBefore: now.bootSeconds + pause)
    }

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

    /// Whether a mirror is asked now that another URL has failed.
    ///
    /// Without a digest a mirror has to send everything that is here once more, to be compared: that is worth it where there is
    /// little, where the URL that has the bytes fails again and again, or where it says that it has them no more.
    func mayAskElsewhere(_ transfer: ActiveTransfer, _ failure: TransferFailure) -> Bool {
        guard transfer.round.isFirst, let partial = transfer.record.partial else { return true }
        if transfer.record.request.checksum != nil || !partial.digests.isEmpty { return true }
        return transfer.record.received <= Self.comparedAtOnce || failure.code == .httpStatus
            || transfer.record.failures >= Self.failuresBeforeComparing
    }

    /// Why a mirror is not asked for the gaps of a file; nil where it may be, or where it is not a mirror that is asked.
    func gapsObstacle(_ transfer: ActiveTransfer) -> TransferFailure? {
        guard !transfer.mayRestart, let partial = transfer.record.partial,
            partial.sourceIdentity(checksum: transfer.record.request.checksum) == nil
        else { return nil }
        return .keepsBytes(because: RetargetedBytes.unproven)
    }

    /// Seconds.
    private static let portalPause: Double = 3_600
    /// Bytes that cost less than a pause does.
    private static let comparedAtOnce: Int64 = 4 << 20
    private static let failuresBeforeComparing = 2
}
