import Clock
import NightshiftAPI
import Store

/// What a failure, or an answer, says of others that go the same way.
extension TransferService {
    /// Whom a failure speaks against.
    func blame(
        _ failure: TransferFailure, at point: FailurePoint?, _ after: RetryAfter?, _ transfer: ActiveTransfer
    ) -> Blame {
        let record = transfer.record
        let asked = (try? TransferURL(parsing: transfer.round.url))?.origin ?? record.origin
        return Blame.of(
            failure, at: point, own: record.origin, asked: asked, hasOwnTLS: record.request.tls != nil,
            retryAfter: after
        ).ofAttempt(hasAdvanced: record.hasAdvanced)
    }

    /// Where an exchange has failed: on its way, or at the server that gave the answer.
    func failurePoint(_ end: ExchangeEnd) -> FailurePoint? {
        end.failurePoint ?? end.head.flatMap { FailurePoint($0) }
    }

    /// How long, and what for; who is to blame pauses all who would meet the same.
    func pause(
        _ transfer: ActiveTransfer, _ outcome: SourceRound.Outcome, _ now: ClockReading
    ) -> Hold {
        let failure = outcome.failure
        let attempt = FailurePause.Attempt(
            failure: failure, blame: outcome.blame, way: way(of: transfer.record), began: transfer.startedAt,
            failures: transfer.record.failures, retryAfter: outcome.retryAfter)
        let pause = FailurePause.after(attempt, in: &hosts, now: now, random: environment.random)
        if pause.reason == .retry, failure.code == .resourceChanged, let doubt = transfer.record.partial?.doubt {
            return doubtful(doubt, failure, isBehindPortal(transfer.record), now)
        }
        return Hold(reason: pause.reason, failure: failure, notBefore: pause.notBefore)
    }

    /// One of a transfer's URLs answers, which says something of the task's origin if it is its own.
    func sourceAnswered(_ transfer: ActiveTransfer, isOwn: Bool) {
        noteAnswer(of: transfer.record.id)
        if isOwn { return hostAnswered(transfer.record) }
        hosts.abandoned(way(of: transfer.record), began: transfer.startedAt)
    }

    /// The task's origin answers: what waited for it may start.
    func hostAnswered(_ record: TaskRecord) {
        guard hosts.answered(way(of: record)) else { return }
        reporting.yield { await $0.pump() }
    }
}
