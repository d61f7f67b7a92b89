import Clock
import NightshiftAPI
import Store

/// What a failure, or an answer, says of others that go the same way.
extension TransferService {
    /// One of a transfer's URLs answers, which says something of the task's origin if it is its own.
    func sourceAnswered(_ transfer: ActiveTransfer, isOwn: Bool) {
        noteAnswer(of: transfer.record.id)
        if isOwn { return hostAnswered(transfer) }
        hosts.abandoned(way(of: transfer.record), began: transfer.startedAt)
    }

    /// The task's origin answers: what waited for it may start.
    func hostAnswered(_ transfer: ActiveTransfer) {
        guard hosts.answered(way(of: transfer.record), began: transfer.startedAt) else { return }
        reporting.yield { await $0.pump() }
    }
}

extension ExchangeEnd {
    /// Where it has failed: on its way, or at the server that gave the answer.
    var placeOfFailure: FailurePoint? { failurePoint ?? head.flatMap { FailurePoint($0) } }
}
