package import NightshiftAPI
package import Store

/// The known facts about the file at one source.
package struct SourceIdentity: Hashable, Sendable {
    package var total: Int64
    package var validators: Validators
    /// How its parts are asked for.
    package var condition: RangeCondition
    /// ``PartialBytes/place``.
    package var place: String?
    /// ``PartialBytes/isOfAnotherURL``.
    package var isOfAnotherURL = false
    /// The digests that the whole file will be compared with in the end.
    package var digests: [Checksum] = []
    /// ``PartialBytes/mediaType``.
    package var mediaType: String?
    /// ``PartialBytes/doubt``.
    package var doubt: AnswerDoubt?

    package init(total: Int64, validators: Validators, condition: RangeCondition) {
        self.total = total
        self.validators = validators
        self.condition = condition
    }
}

/// A request for a part of a file, and what its answer means.
package struct SegmentRequest: Hashable, Sendable {
    package var range: Range<Int64>
    /// The file as this source has shown it; of a mirror that was never asked, nil.
    package var identity: SourceIdentity?

    package init(range: Range<Int64>, identity: SourceIdentity?) {
        self.range = range
        self.identity = identity
    }
}

/// The verdict on an answer to a request for a part.
package enum SegmentAnswer: Hashable, Sendable {
    /// The body carries these bytes: written from their start on, up to the connection's end.
    case serves(Range<Int64>, SourceIdentity)
    /// Break off and ask again in this way: ``SegmentEnd/again``.
    case again(RangeCondition)
    /// ``SegmentEnd/busy(until:)``.
    case busy(RetryAfter?, TransferFailure)
    /// ``SegmentEnd/failed``.
    case trouble(TransferFailure)
    /// ``SegmentEnd/distrusted(_:)``.
    case distrusted(String)
    /// ``SegmentEnd/refused(_:)``, and what it means for the task: the same as if it had asked over one connection.
    case refused(DownloadConclusion, because: String)
}

extension SegmentAnswer {
    /// Of a request that ended without a response for the task; nil where nothing follows from that but the end itself.
    package init?(unanswered outcome: ExchangeEnd.Outcome) {
        guard case .challenged(let challenge) = outcome else { return nil }
        self = .refused(.question(challenge), because: "the server asks who is there")
    }
}

extension SegmentRequest {
    /// `Range` and `If-Range`.
    package var headers: [HeaderField] { plan.headers }

    private var plan: ExchangePlan {
        let condition = identity.map { $0.condition.usable(with: $0.validators) } ?? .unconditional
        var headers = [HeaderField(name: "Range", value: "bytes=\(range.lowerBound)-\(range.upperBound - 1)")]
        let tie: String? =
            switch condition {
            case .entityTag: identity?.validators.strongEntityTag
            case .lastModified: identity?.validators.strongLastModified
            case .unconditional, .unusable: nil
            }
        if let tie { headers.append(HeaderField(name: "If-Range", value: tie)) }
        return ExchangePlan(offset: range.lowerBound, condition: condition, headers: headers)
    }

    /// Decides as ``Verdict/judge(head:plan:partial:policy:now:)`` does, but never over the file: where that would start
    /// again, this source is not used for parts any more. What is to be waited out, or ends the task, is left to the task, which
    /// keeps all that is here.
    ///
    /// - Parameters:
    ///   - file: the file as the task's own URL has shown it.
    ///   - policy: the task's.
    ///   - now: seconds since 1970.
    package func judge(
        head: ResponseHead, file: SourceIdentity, policy: ResponsePolicy, now: Double
    ) -> SegmentAnswer {
        var known = identity ?? file
        if identity == nil, head.status == 206 || head.isPart {
            let given = Validators(head: head)
            guard given.identifyBytes else {
                return .distrusted("the mirror gave nothing by which this version of the file could be recognised")
            }
            if let doubt = file.doubt(head) { return .distrusted(doubt) }
            // Its own words from here on: tags differ from server to server.
            known = SourceIdentity(total: file.total, validators: given, condition: .entityTag)
            known.place = try? TransferURL(parsing: head.url).place
        }
        var partial = PartialBytes(
            count: range.lowerBound, total: file.total, validators: known.validators, condition: plan.condition)
        partial.place = known.place
        partial.digests = file.digests
        partial.isVerified = !file.digests.isEmpty
        partial.mediaType = known.mediaType
        partial.doubt = known.doubt
        // Of a part it is looked at below; of anything else another URL is believed more readily.
        partial.isOfAnotherURL = known.isOfAnotherURL && head.status != 206 && !head.isPart
        var policy = policy
        // A connection that is too many is no answer to the task.
        policy.retry = .transientResponses
        let verdict = Verdict.judge(head: head, plan: plan, partial: partial, policy: policy, now: now)
        switch verdict {
        case .append(let representation, let offset, let length?):
            if known.isOfAnotherURL {
                partial.isOfAnotherURL = true
                guard partial.sharesValidators(with: head) else { return .distrusted(RetargetedBytes.unproven) }
                known.isOfAnotherURL = false
                known.place = try? TransferURL(parsing: head.url).place
            }
            known.doubt = nil
            known.validators = representation.validators
            known.condition = plan.condition
            return .serves(offset..<offset + length, known)
        case .askAgain(let condition, _): return .again(condition)
        case .retryLater(let failure, let after):
            return failure.status == 429 || failure.status == 503 ? .busy(after, failure) : .trouble(failure)
        case .startAgain(let reason), .fresh(_, let reason?): return .distrusted(reason)
        case .fail(let failure):
            return .refused(
                .trouble(failure, after: nil),
                because: "the server answered a request for a part with \(HTTPStatus.name(head.status))")
        case .doubt(let doubt, let failure):
            return .refused(.doubt(doubt, failure), because: "what came in place of a part is not believed")
        case .append, .fresh, .compare, .alreadyComplete:
            return .distrusted("the server did not send the part that was asked for")
        }
    }
}

extension SourceIdentity {
    /// What speaks against a mirror's having this file; nil where it has the same length, and a digest that the whole will be
    /// compared with finds out if its bytes are others. Its tag says nothing: it is the mirror's own word for its own file.
    fileprivate func doubt(_ head: ResponseHead) -> String? {
        guard head.total == total else { return "the mirror has a file of another length" }
        guard !digests.isEmpty else {
            return "nothing proves that the mirror has the same file: there is neither a checksum nor a digest"
        }
        return DigestFields.contradict(digests, DigestFields.expected(head: head, wholeBody: false))
            ? "the mirror has a file of another digest" : nil
    }
}

extension ResponseHead {
    /// The length of the whole that a part belongs to.
    fileprivate var total: Int64? {
        guard let field = headers.first("Content-Range"), case .bytes(_, _, let total)? = ContentRange(field: field)
        else {
            return nil
        }
        return total
    }
}
