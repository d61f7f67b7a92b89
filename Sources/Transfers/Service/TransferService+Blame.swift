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
        let blame = Blame.of(
            failure, at: point, own: record.origin, asked: asked, hasOwnTLS: record.request.tls != nil,
            retryAfter: after)
        // It was reached in this very attempt: the next one shows whether it still can be.
        return blame == .address && record.hasAdvanced ? .nobody : blame
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
        let way = way(of: transfer.record)
        let asked = outcome.retryAfter.map { now.bootSeconds + RetrySchedule.retryAfter($0, now: now.wallSeconds) }
        var delay = RetrySchedule.delay(attempt: transfer.record.failures + 1, random: environment.random())
        // Trouble of this machine, such as too many open files, may be over at any moment, and no server is asked in vain.
        if failure.code == .inputOutput { delay = min(delay, Self.storePause) }
        let own = now.bootSeconds + delay
        hosts.failed(
            way, outcome.blame, failure, began: transfer.startedAt, refusedUntil: asked, now: now,
            random: environment.random())
        if failure.code == .diskFull {
            return Hold(reason: .diskSpace, failure: failure, notBefore: now.bootSeconds + Self.storePause)
        }
        // "In 0 seconds", said again and again, is no wish.
        if let asked, asked > now.bootSeconds {
            return Hold(reason: .retryAfter, failure: failure, notBefore: asked)
        }
        if failure.code == .resourceChanged, let doubt = transfer.record.partial?.doubt {
            return doubtful(doubt, failure, isBehindPortal(transfer.record), now)
        }
        switch outcome.blame {
        case .address, .proxy:
            let end = hosts.blockedUntil(way, now.bootSeconds) ?? own
            return Hold(reason: .retry, failure: failure, notBefore: end)
        case .origin, .request, .nobody:
            return Hold(reason: .retry, failure: failure, notBefore: own)
        }
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
