import NightshiftAPI

extension Verdict {
    /// Decides what a final response means, given what was asked and what is here.
    ///
    /// Asking again at once always ends: ``askAgain(_:reason:)`` names a later condition each time, and the answer to a
    /// request without a range never leads to it or to ``startAgain(reason:)``. That makes three requests more at most.
    ///
    /// - Parameter now: seconds since 1970.
    package static func judge(
        head: ResponseHead, plan: ExchangePlan, partial: PartialBytes?, policy: ResponsePolicy, now: Double
    ) -> Verdict {
        if let failure = head.lengthContradiction { return .retryLater(failure, after: nil) }
        let verdict = judgeFreely(head: head, plan: plan, partial: partial, policy: policy, now: now)
        if let partial, verdict.givesUp(partial),
            let (doubt, failure) = AnswerDoubts.doubt(head, partial, isBehindPortal: policy.isBehindPortal)
        {
            return .doubt(doubt, failure)
        }
        // Its body would take their place.
        if !policy.mayRestart, case .fresh(_, let reason?) = verdict { return .startAgain(reason: reason) }
        return verdict
    }

    private static func judgeFreely(
        head: ResponseHead, plan: ExchangePlan, partial: PartialBytes?, policy: ResponsePolicy, now: Double
    ) -> Verdict {
        let question = Question(head: head, plan: plan, partial: partial, now: now)
        if policy.asksConditionally || head.method == "HEAD" { return question.judgeOwnAnswer(policy) }
        if let retargeted = partial.flatMap(RetargetedBytes.init), plan.asksForRange || retargeted.plan.comparesAll,
            let verdict = retargeted.judge(head: head, plan: plan, now: now)
        {
            return verdict
        }
        switch head.status {
        case 206 where plan.asksForRange: return question.judgePart()
        case 206: return question.judgeUnaskedPart()
        case 200, 203: return question.judgeWhole()
        case 416 where plan.asksForRange: return question.judgeUnsatisfied()
        case 400 where plan.asksForRange, 412 where plan.asksForRange:
            // The whole was served before, so it is the condition or the range that is not understood.
            return question.stepDown(because: "the server rejected the request for the rest (\(head.status))")
                ?? .startAgain(reason: "the server rejects requests for a part of the file (\(head.status))")
        case 200...299 where plan.asksForRange, 304 where plan.asksForRange:
            return .startAgain(
                reason: "the server answered a request for the rest with \(HTTPStatus.name(head.status))")
        case 200...299: return .fresh(Representation(whole: head, now: now), restart: question.lossReason)
        default: return question.judgeFailure(policy)
        }
    }
}

extension Verdict {
    /// Whether another file would take the place of the one that is known.
    fileprivate func givesUp(_ partial: PartialBytes) -> Bool {
        switch self {
        case .fresh(_, let restart): restart != nil || partial.count == 0
        case .startAgain: true
        case .append, .compare, .alreadyComplete, .askAgain, .retryLater, .fail, .doubt: false
        }
    }
}

private let fileChanged = "the remote file changed"

/// A response together with what led to it.
private struct Question {
    var head: ResponseHead
    var plan: ExchangePlan
    var partial: PartialBytes?
    var now: Double

    var known: Validators { partial?.validators ?? Validators() }
    var count: Int64 { partial?.count ?? 0 }

    /// Why a request for the whole had to be made although bytes were here; nil if there were none.
    var lossReason: String? {
        guard let partial, partial.count > 0 else { return nil }
        if let reason = partial.lossReason { return reason }
        if partial.isOfAnotherURL { return RetargetedBytes.unproven }
        if partial.condition == .unusable { return "the server does not send parts of this file" }
        if !partial.validators.identifyBytes {
            return "the server gave nothing by which this version of the file could be recognised"
        }
        return "the bytes here could not be continued"
    }

    func stepDown(because reason: String) -> Verdict? {
        plan.condition.following(with: known).map { .askAgain($0, reason: reason) }
    }

    // MARK: 206

    func judgePart() -> Verdict {
        if head.isMultipartRanges {
            return .startAgain(reason: "the server sent several parts where one was asked for")
        }
        let given = Validators(head: head)
        if known.contradicts(given) { return .startAgain(reason: fileChanged) }
        guard let field = head.headers.first("Content-Range"),
            case .bytes(let first, let last, let total)? = ContentRange(field: field)
        else {
            return .startAgain(reason: "the server sent a part without saying which")
        }
        if let expected = partial?.total, let total, total != expected {
            return .startAgain(reason: "\(fileChanged): it had \(expected) bytes and now has \(total)")
        }
        guard known.confirms(given) else {
            return .startAgain(reason: "the server sent a part without saying of which version of the file")
        }
        if partial?.sharesValidators(with: head) == false {
            return .startAgain(reason: "the server sent a part from another place than the bytes here came from")
        }
        if partial?.contradictsDigests(of: head) == true { return .startAgain(reason: fileChanged) }
        if head.isEncoded, known.strongEntityTag == nil || given.strongEntityTag == nil {
            return .startAgain(reason: "the server sent an encoded part, which may not fit the bytes here")
        }
        let length = last - first + 1
        if let announced = head.contentLength, announced != length {
            return .startAgain(reason: "the server sent a part of \(announced) bytes and called it one of \(length)")
        }
        if first > plan.offset {
            return .startAgain(reason: "the server sent a part that begins behind the bytes here")
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

    /// A 206 although the whole was asked for: harmless if it is the whole, otherwise a broken server or cache.
    func judgeUnaskedPart() -> Verdict {
        if !head.isMultipartRanges, let field = head.headers.first("Content-Range"),
            case .bytes(first: 0, let last, let total?)? = ContentRange(field: field), last + 1 == total,
            head.contentLength == nil || head.contentLength == total
        {
            var representation = Representation(whole: head, now: now)
            representation.total = total
            return .fresh(representation, restart: lossReason)
        }
        return .retryLater(
            TransferFailure(
                .protocolError, "The server sent a part of the file although the whole was asked for.", status: 206),
            after: nil)
    }

    // MARK: 200

    func judgeWhole() -> Verdict {
        var representation = Representation(whole: head, now: now)
        guard plan.asksForRange else { return .fresh(representation, restart: lossReason) }
        let given = Validators(head: head)
        if known.contradicts(given) { return .fresh(representation, restart: fileChanged) }
        if let expected = partial?.total, let total = representation.total, expected != total {
            return .fresh(
                representation, restart: "\(fileChanged): it had \(expected) bytes and now has \(total)")
        }
        guard known.confirms(given) else {
            return .fresh(
                representation, restart: "the server sent the whole file and did not say whether it has changed")
        }
        // The same version: the server did not honour the range. It may do so when asked in another way.
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
            return .startAgain(reason: "the server has no bytes where the file was to go on")
        }
        if known.contradicts(Validators(head: head)) { return .startAgain(reason: fileChanged) }
        if total == partial.count, partial.total == total { return .alreadyComplete }
        return .startAgain(
            reason: "the server says the file has \(total) bytes; \(partial.count) are here, which it did not expect")
    }

    // MARK: What the request's owner asked for by itself

    /// The answer to a range, a condition or a HEAD of the request's own is its result, as it is: nothing of it is ever continued.
    func judgeOwnAnswer(_ policy: ResponsePolicy) -> Verdict {
        guard (200...299).contains(head.status) else { return judgeFailure(policy) }
        return .fresh(
            Representation(validators: Validators(), total: head.contentLength, acceptsRanges: false), restart: nil)
    }

    // MARK: Other statuses

    func judgeFailure(_ policy: ResponsePolicy) -> Verdict {
        let status = head.status
        guard (300...599).contains(status) else {
            return .retryLater(
                TransferFailure(.protocolError, "The server answered with the status \(status).", status: status),
                after: nil)
        }
        // 511 is a network's word, never the server's (RFC 6585, section 6).
        if policy.retry == .transientResponses && HTTPStatus.isTransient(status) || status == 511 {
            return .retryLater(
                TransferFailure(
                    .serverUnavailable, "The server answered \(HTTPStatus.name(status)); it may do better later.",
                    status: status),
                after: head.headers.first("Retry-After").flatMap(RetryAfter.init(field:)))
        }
        if policy.failsOnHTTPError {
            return .fail(TransferFailure(.httpStatus, HTTPStatus.explanation(status), status: status))
        }
        // A page about an error is never continued, so nothing is kept to recognise it by.
        let page = Representation(validators: Validators(), total: head.contentLength, acceptsRanges: false)
        return .fresh(page, restart: count > 0 ? "the server answered \(HTTPStatus.name(status))" : nil)
    }
}
