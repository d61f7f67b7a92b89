import NightshiftAPI
import Store

/// What follows when a download's exchange has ended.
extension TransferService {
    /// What the end of a download's exchange asks for.
    enum Conclusion {
        case whole
        /// Ask again at once; without a condition from the start.
        case again(RangeCondition?, reason: String)
        case interrupted
        case trouble(TransferFailure, after: RetryAfter?)
        case doubt(AnswerDoubt, TransferFailure)
        /// The bytes are not what they were said to be: trouble that leaves nothing.
        case worthless(TransferFailure)
        case question(Challenge)
    }

    static func conclusion(
        _ receiver: DownloadReceiver, _ reception: DownloadReceiver.Reception?, _ end: ExchangeEnd
    ) -> Conclusion {
        if let failure = reception?.failure { return .trouble(failure, after: nil) }
        if case .challenged(let challenge) = end.outcome { return .question(challenge) }
        switch (reception?.verdict, end.outcome) {
        case (.alreadyComplete?, _): return .whole
        case (.askAgain(let condition, let reason)?, _): return .again(condition, reason: reason)
        case (.startAgain(let reason)?, _): return .again(nil, reason: reason)
        case (.retryLater(let failure, let after)?, _): return .trouble(failure, after: after)
        case (.fail(let failure)?, _): return .trouble(failure, after: nil)
        case (.doubt(let doubt, let failure)?, _): return .doubt(doubt, failure)
        case (.fresh(let representation, _)?, let outcome):
            return bodyEnded(receiver, total: representation.total, announcedEnd: representation.total, outcome)
        case (.append(let representation, let offset, let length)?, let outcome):
            return bodyEnded(
                receiver, total: representation.total, announcedEnd: length.map { offset + $0 }, outcome)
        case (.compare(let representation, let offset, let length)?, let outcome):
            return comparisonEnded(reception?.overlap, outcome)
                ?? bodyEnded(
                    receiver, total: representation.total, announcedEnd: length.map { offset + $0 }, outcome)
        case (nil, .cancelled), (nil, .challenged): return .interrupted
        case (nil, .failed(let failure)): return .trouble(failure, after: nil)
        case (nil, .complete):
            return .trouble(TransferFailure(.protocolError, "The server sent no response."), after: nil)
        }
    }

    private static func bodyEnded(
        _ receiver: DownloadReceiver, total: Int64?, announcedEnd: Int64?, _ outcome: ExchangeEnd.Outcome
    ) -> Conclusion {
        if case .failed(let failure) = outcome,
            failure.isPermanent || failure.code == .diskFull || failure.code == .inputOutput
        {
            return .trouble(failure, after: nil)
        }
        let verdict = Verdict.judgeEnd(
            total: total, announcedEnd: announcedEnd, count: receiver.position.value, complete: outcome == .complete)
        switch (verdict, outcome) {
        case (.whole, _): return .whole
        case (.more, .cancelled), (.truncated, .cancelled), (.truncated, .challenged): return .interrupted
        case (.more, _): return .again(receiver.plan.condition, reason: "The server sent a part of what was asked for.")
        case (.truncated, .failed(let failure)): return .trouble(failure, after: nil)
        case (.truncated(let failure), .complete): return .trouble(failure, after: nil)
        case (.tooLong(let failure), _): return .worthless(failure)
        }
    }
}
