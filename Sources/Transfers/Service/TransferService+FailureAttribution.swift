import Clock
import NightshiftAPI
import Store

/// Failures and answers of one transfer that affect others with the same origin or route.
extension TransferService {
    /// Handles an answer from one of a transfer's URLs. The answer concerns the task's origin only if the URL is the
    /// task's own.
    func sourceAnswered(_ transfer: ActiveTransfer, isOwn: Bool) {
        noteAnswer(of: transfer.record.id)
        if isOwn { return hostAnswered(transfer) }
        hosts.abandoned(way(of: transfer.record), began: transfer.startedAt)
    }

    /// Handles an answer from the task's origin. Tasks that waited for the origin may start.
    func hostAnswered(_ transfer: ActiveTransfer) {
        guard hosts.answered(way(of: transfer.record), began: transfer.startedAt) else { return }
        reporting.yield { await $0.schedule() }
    }
}

extension ExchangeEnd {
    /// The point at which the exchange failed: before the server, or at the server that sent the response.
    var placeOfFailure: FailurePoint? { failurePoint ?? head.flatMap { FailurePoint($0) } }
}
