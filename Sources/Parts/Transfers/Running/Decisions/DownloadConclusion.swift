package import NightshiftAPI
package import Store

/// The next step after the end of a download's exchange, as a pure decision.
package enum DownloadConclusion: Hashable, Sendable {
    /// All bytes of the file are on disk.
    case whole
    /// Another request follows at once; nil requests the whole file.
    case again(RangeCondition?, reason: String)
    /// The service itself ended the exchange.
    case interrupted
    case trouble(TransferFailure, after: RetryAfter?)
    /// The response is suspect. The bytes on disk are kept, and the request is repeated later.
    case doubt(SuspectResponse, TransferFailure)
    /// The bytes are not the bytes that the server announced, so none of them can be kept.
    case worthless(TransferFailure)
    case question(Challenge)
}

/// The facts about a download's exchange that has ended.
package struct DownloadEnd: Sendable {
    /// The verdict on the response's head; nil if no head arrived.
    package var verdict: Verdict?
    /// A failure of the file that happened before the first byte.
    package var failure: TransferFailure?
    /// The result of comparing bytes; nil without a comparison.
    package var finding: OverlapComparison.Finding?
    /// The number of the file's bytes on disk.
    package var count: Int64
    /// The condition of the range request.
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
        case (.more, _): return .again(condition, reason: "The server sent only a part of the requested bytes.")
        case (.truncated, .failed(let failure)): return .trouble(failure, after: nil)
        case (.truncated(let failure), .complete): return .trouble(failure, after: nil)
        case (.tooLong(let failure), _): return .worthless(failure)
        }
    }

    /// The conclusion of an exchange whose comparison did not finish; nil if all compared bytes agreed.
    private var comparisonEnded: DownloadConclusion? {
        switch (finding, outcome) {
        case (.agrees?, _): nil
        case (.differs?, _): .again(nil, reason: "the file at the new URL is a different file")
        case (.provesNothing?, _): .again(nil, reason: RetargetedBytes.unproven)
        case (.unreadable?, _), (nil, _), (.pending?, .challenged):
            .trouble(TransferFailure(.inputOutput, "The bytes on disk could not be read."), after: nil)
        case (.pending?, .cancelled): .interrupted
        case (.pending?, .failed(let failure)): .trouble(failure, after: nil)
        case (.pending?, .complete):
            .trouble(TransferFailure(.truncated, "The connection ended before all bytes were compared."), after: nil)
        }
    }
}

extension TransferFailure {
    /// Whether other connections for the same file would fail in the same way: the failure is permanent, or of the
    /// disk.
    var endsAllConnections: Bool { isPermanent || code == .diskFull || code == .inputOutput }
}
