import NightshiftAPI

extension Verdict {
    /// Decides the meaning of a final response, given the request and the bytes on disk.
    ///
    /// The service sends at most three more requests without a pause. Each ``askAgain(_:reason:)`` names a later
    /// condition. The response to a request without a range leads neither to ``askAgain(_:reason:)`` nor to
    /// ``startAgain(reason:)``.
    ///
    /// - Parameter now: seconds since 1970.
    package static func judge(
        head: ResponseHead, plan: ExchangePlan, partial: PartialBytes?, policy: ResponsePolicy, now: Double
    ) -> Verdict {
        if let failure = head.lengthContradiction { return .retryLater(failure, after: nil) }
        let verdict = judgeFreely(head: head, plan: plan, partial: partial, policy: policy, now: now)
        if let partial, verdict.givesUp(partial),
            let (doubt, failure) = SuspectResponses.doubt(head, partial, isBehindPortal: policy.isBehindPortal)
        {
            return .doubt(doubt, failure)
        }
        if partial == nil, case .fresh = verdict, let (doubt, failure) = SuspectResponses.firstDoubt(head, policy) {
            return .doubt(doubt, failure)
        }
        // The body of this response would overwrite the bytes on disk.
        if !policy.mayRestart, case .fresh(_, let reason?) = verdict { return .startAgain(reason: reason) }
        return verdict
    }

    private static func judgeFreely(
        head: ResponseHead, plan: ExchangePlan, partial: PartialBytes?, policy: ResponsePolicy, now: Double
    ) -> Verdict {
        let question = Question(head: head, plan: plan, partial: partial, now: now)
        let asked = Asked(head: head, plan: plan, policy: policy)
        if asked != .answer, let retargeted = partial.flatMap(RetargetedBytes.init),
            plan.asksForRange || retargeted.plan.comparesAll,
            let verdict = retargeted.judge(head: head, plan: plan, now: now)
        {
            return verdict
        }
        let isPart = head.isPart || asked == .rest && (head.status == 206 || head.isMultipartRanges)
        switch ResponseMeaning(status: head.status, isPart: isPart, asked: asked, policy: policy) {
        case .part where asked == .rest: return question.judgePart()
        case .part: return question.unaskedPart
        case .whole: return question.judgeWhole()
        case .rangeUnsatisfied: return question.judgeUnsatisfied()
        case .rangeRejected:
            // The server sent the file earlier, so it rejects the condition or the range, not the file.
            return question.stepDown(because: "the server rejected the request for the rest (\(head.status))")
                ?? .startAgain(reason: "the server rejects requests for a part of the file (\(head.status))")
        case .notTheRest:
            return .startAgain(
                reason: "the server answered a request for the rest with \(HTTPStatus.name(head.status))")
        case .result: return question.result
        case .notReady: return question.retryLater("the file is not ready yet")
        case .passing: return question.retryLater("the error may be temporary")
        case .refused:
            let words = HTTPStatus.explanation(
                head.status, hasCondition: policy.asksConditionally, hasLogin: policy.hasLogin)
            return .fail(TransferFailure(.httpStatus, words, status: head.status))
        case .invalid:
            let words = "The server answered with the status \(head.status)."
            return .retryLater(TransferFailure(.protocolError, words, status: head.status), after: nil)
        }
    }
}

extension Asked {
    init(head: ResponseHead, plan: ExchangePlan, policy: ResponsePolicy) {
        if policy.asksConditionally || policy.hasOwnMethod || head.method == "HEAD" {
            self = .answer
        } else {
            self = plan.asksForRange ? .rest : .whole
        }
    }
}

extension Verdict {
    /// Returns whether this verdict replaces the known file with another one.
    fileprivate func givesUp(_ partial: PartialBytes) -> Bool {
        switch self {
        case .fresh(_, let restart): restart != nil || partial.count == 0
        case .startAgain: true
        case .append, .compare, .alreadyComplete, .askAgain, .retryLater, .fail, .doubt: false
        }
    }
}

private let fileChanged = "the remote file changed"

/// A response, together with its request and the bytes on disk that the request continues.
private struct Question {
    var head: ResponseHead
    var plan: ExchangePlan
    var partial: PartialBytes?
    var now: Double

    var known: Validators { partial?.validators ?? Validators() }
    var count: Int64 { partial?.count ?? 0 }

    /// The reason why the whole file was requested although bytes are on disk; nil without bytes.
    var lossReason: String? {
        guard let partial, partial.count > 0 else { return nil }
        if let reason = partial.lossReason { return reason }
        if partial.isOfAnotherURL { return RetargetedBytes.unproven }
        if partial.condition == .unusable { return "the server does not send parts of this file" }
        if !partial.validators.identifyBytes {
            return "the server sent no strong validator, so this version of the file cannot be recognised"
        }
        return "the download could not continue from the bytes on disk"
    }

    func stepDown(because reason: String) -> Verdict? {
        plan.condition.following(with: known).map { .askAgain($0, reason: reason) }
    }

    // MARK: 206

    func judgePart() -> Verdict {
        if head.isMultipartRanges {
            return .startAgain(reason: "the server sent several parts although one was requested")
        }
        let given = Validators(head: head)
        if known.contradicts(given) { return .startAgain(reason: fileChanged) }
        guard let field = head.headers.first("Content-Range"),
            case .bytes(let first, let last, let total)? = ContentRange(field: field)
        else {
            return .startAgain(reason: "the server sent a part without a valid Content-Range")
        }
        if let expected = partial?.total, let total, total != expected {
            return .startAgain(reason: "\(fileChanged): it had \(expected) bytes and now has \(total)")
        }
        guard known.confirms(given) else {
            return .startAgain(reason: "the server sent a part without a validator that confirms its version")
        }
        if partial?.sharesValidators(with: head) == false {
            return .startAgain(reason: "the server sent a part from another URL than the bytes on disk came from")
        }
        if partial?.contradictsDigests(of: head) == true { return .startAgain(reason: fileChanged) }
        if head.isEncoded, known.strongEntityTag == nil || given.strongEntityTag == nil {
            return .startAgain(reason: "the server sent an encoded part, which may not match the bytes on disk")
        }
        let length = last - first + 1
        if let announced = head.contentLength, announced != length {
            return .startAgain(reason: "the server sent \(announced) bytes, but its Content-Range announced \(length)")
        }
        if first > plan.offset {
            return .startAgain(reason: "the server sent a part that begins after the end of the bytes on disk")
        }
        let whole = partial?.total ?? total
        guard last >= count || last + 1 == whole else {
            return .startAgain(reason: "the server sent a part without any of the missing bytes")
        }
        if let whole, last >= whole {
            return .startAgain(reason: "\(fileChanged): it had \(whole) bytes and now has more")
        }
        let representation = Representation(validators: known.completed(by: given), total: whole, acceptsRanges: true)
        return .append(representation, offset: first, length: length)
    }

    /// The verdict on a part in response to a request for the whole: the server or a cache is broken.
    var unaskedPart: Verdict {
        .retryLater(
            TransferFailure(
                .protocolError, "The server sent a part of the file although the whole was requested.",
                status: head.status),
            after: nil)
    }

    // MARK: 200

    func judgeWhole() -> Verdict {
        var representation = Representation(whole: head, now: now)
        representation.total = head.lengthOfAllBytes ?? representation.total
        guard plan.asksForRange else { return .fresh(representation, restart: lossReason) }
        let given = Validators(head: head)
        if known.contradicts(given) { return .fresh(representation, restart: fileChanged) }
        if let expected = partial?.total, let total = representation.total, expected != total {
            return .fresh(
                representation, restart: "\(fileChanged): it had \(expected) bytes and now has \(total)")
        }
        guard known.confirms(given) else {
            return .fresh(
                representation,
                restart: "the server sent the whole file without a validator that shows whether it has changed")
        }
        // The version is the same, but the server ignored the range. It may accept another form of the request.
        if !head.refusesRanges, let again = stepDown(because: "the server sent the whole file instead of the rest") {
            return again
        }
        representation.acceptsRanges = false
        return .fresh(representation, restart: "the server does not send parts of this file")
    }

    // MARK: 416

    func judgeUnsatisfied() -> Verdict {
        guard let partial, let field = head.headers.first("Content-Range"),
            case .unsatisfied(let total)? = ContentRange(field: field)
        else {
            return .startAgain(reason: "the server has no bytes at the offset where the download continues")
        }
        if known.contradicts(Validators(head: head)) { return .startAgain(reason: fileChanged) }
        if total == partial.count, partial.total == total { return .alreadyComplete }
        return .startAgain(
            reason: "the server says the file has \(total) bytes, but \(partial.count) bytes are on disk")
    }

    // MARK: Other statuses

    /// The verdict that the response is the task's result. Results are never continued, so no validators are stored.
    var result: Verdict {
        let result = Representation(validators: Validators(), total: head.contentLength, acceptsRanges: false)
        return .fresh(result, restart: count > 0 ? "the server answered \(HTTPStatus.name(head.status))" : nil)
    }

    func retryLater(_ words: String) -> Verdict {
        .retryLater(
            TransferFailure(
                .serverUnavailable, "The server answered \(HTTPStatus.name(head.status)); \(words).",
                status: head.status),
            after: head.headers.first("Retry-After").flatMap(RetryAfter.init(field:)))
    }
}
