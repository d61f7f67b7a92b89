package import NightshiftAPI
package import Store

/// What the end of a download's exchange asks for. Pure.
package enum DownloadConclusion: Hashable, Sendable {
    /// Every byte is here.
    case whole
    /// Ask again at once; without a condition from the start.
    case again(RangeCondition?, reason: String)
    /// The service itself has ended it.
    case interrupted
    case trouble(TransferFailure, after: RetryAfter?)
    /// The answer is not believed: the bytes stay, and it is asked again later.
    case doubt(AnswerDoubt, TransferFailure)
    /// The bytes are not what they were said to be: trouble that leaves nothing.
    case worthless(TransferFailure)
    case question(Challenge)
}

/// What is known when a download's exchange has ended.
package struct DownloadEnd: Sendable {
    /// What the response's head was judged to be; nil where none came.
    package var verdict: Verdict?
    /// Trouble with the file before the first byte.
    package var failure: TransferFailure?
    /// What the comparison of bytes came to, where there was one.
    package var finding: OverlapComparison.Finding?
    /// Bytes of the file that are here.
    package var count: Int64
    /// How the exchange had asked for a part.
    package var condition: RangeCondition
    package var outcome: ExchangeEnd.Outcome

    package init(
        verdict: Verdict?, failure: TransferFailure? = nil, finding: OverlapComparison.Finding? = nil, count: Int64,
        condition: RangeCondition, outcome: ExchangeEnd.Outcome
    ) {
        self.verdict = verdict
        self.failure = failure
        self.finding = finding
        self.count = count
        self.condition = condition
        self.outcome = outcome
    }

    package var conclusion: DownloadConclusion {
        if let failure { return .trouble(failure, after: nil) }
        if case .challenged(let challenge) = outcome { return .question(challenge) }
        switch (verdict, outcome) {
        case (.alreadyComplete?, _): return .whole
        case (.askAgain(let condition, let reason)?, _): return .again(condition, reason: reason)
        case (.startAgain(let reason)?, _): return .again(nil, reason: reason)
        case (.retryLater(let failure, let after)?, _): return .trouble(failure, after: after)
        case (.fail(let failure)?, _): return .trouble(failure, after: nil)
        case (.doubt(let doubt, let failure)?, _): return .doubt(doubt, failure)
        case (.fresh(let representation, _)?, _):
            return bodyEnded(total: representation.total, announcedEnd: representation.total)
        case (.append(let representation, let offset, let length)?, _):
            return bodyEnded(total: representation.total, announcedEnd: length.map { offset + $0 })
        case (.compare(let representation, let offset, let length)?, _):
            return comparisonEnded
                ?? bodyEnded(total: representation.total, announcedEnd: length.map { offset + $0 })
        case (nil, .cancelled), (nil, .challenged): return .interrupted
        case (nil, .failed(let failure)): return .trouble(failure, after: nil)
        case (nil, .complete):
            return .trouble(TransferFailure(.protocolError, "The server sent no response."), after: nil)
        }
    }

    private func bodyEnded(total: Int64?, announcedEnd: Int64?) -> DownloadConclusion {
        if case .failed(let failure) = outcome, failure.endsAllConnections { return .trouble(failure, after: nil) }
        let verdict = Verdict.judgeEnd(
            total: total, announcedEnd: announcedEnd, count: count, complete: outcome == .complete)
        switch (verdict, outcome) {
        case (.whole, _): return .whole
        case (.more, .cancelled), (.truncated, .cancelled), (.truncated, .challenged): return .interrupted
        case (.more, _): return .again(condition, reason: "The server sent a part of what was asked for.")
        case (.truncated, .failed(let failure)): return .trouble(failure, after: nil)
        case (.truncated(let failure), .complete): return .trouble(failure, after: nil)
        case (.tooLong(let failure), _): return .worthless(failure)
        }
    }

    /// What an exchange that compares has come to before the bytes agreed; nil once they have.
    private var comparisonEnded: DownloadConclusion? {
        switch (finding, outcome) {
        case (.agrees?, _): nil
        case (.differs?, _): .again(nil, reason: "the file at the new URL is another one")
        case (.provesNothing?, _): .again(nil, reason: RetargetedBytes.unproven)
        case (.unreadable?, _), (nil, _), (.pending?, .challenged):
            .trouble(TransferFailure(.inputOutput, "The bytes that are here could not be read."), after: nil)
        case (.pending?, .cancelled): .interrupted
        case (.pending?, .failed(let failure)): .trouble(failure, after: nil)
        case (.pending?, .complete):
            .trouble(TransferFailure(.truncated, "The connection ended within the bytes to be compared."), after: nil)
        }
    }
}

extension TransferFailure {
    /// Whether other connections for the same file would meet it too: it is permanent, or the disk's.
    var endsAllConnections: Bool { isPermanent || code == .diskFull || code == .inputOutput }
}
