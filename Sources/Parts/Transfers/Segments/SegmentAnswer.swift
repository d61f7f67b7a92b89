package import NightshiftAPI
package import Store

/// The known facts about the file at one source.
package struct SourceIdentity: Hashable, Sendable {
    package var total: Int64
    package var validators: Validators
    /// The condition sent with range requests to this source.
    package var condition: RangeCondition
    /// The value of ``PartialBytes/place`` for bytes of this source.
    package var place: String?
    /// The value of ``PartialBytes/isOfAnotherURL`` for bytes of this source.
    package var isOfAnotherURL = false
    /// The digests that will verify the whole file.
    package var digests: [Checksum] = []
    /// The media type of the file: the value of ``PartialBytes/mediaType``.
    package var mediaType: String?
    /// The last suspect response: the value of ``PartialBytes/doubt``.
    package var doubt: SuspectResponse?

    package init(total: Int64, validators: Validators, condition: RangeCondition) {
        self.total = total
        self.validators = validators
        self.condition = condition
    }
}

/// A request for a part of a file, with the rules for judging its response.
package struct SegmentRequest: Hashable, Sendable {
    package var range: Range<Int64>
    /// The file as this source has described it; nil for a mirror without an earlier response.
    package var identity: SourceIdentity?

    package init(range: Range<Int64>, identity: SourceIdentity?) {
        self.range = range
        self.identity = identity
    }
}

/// The verdict on a response to a request for a part.
package enum SegmentAnswer: Hashable, Sendable {
    /// The body has these bytes. They are written up to the connection's end.
    case serves(Range<Int64>, SourceIdentity)
    /// The exchange is cancelled, and another request is sent in this form. The result is ``SegmentEnd/again``.
    case again(RangeCondition)
    /// The result is ``SegmentEnd/busy(until:)``.
    case busy(RetryAfter?, TransferFailure)
    /// The result is ``SegmentEnd/failed``.
    case trouble(TransferFailure)
    /// The result is ``SegmentEnd/distrusted(_:)``.
    case distrusted(String)
    /// The result is ``SegmentEnd/refused(_:)``, with the same consequence for the task as over a single connection.
    case refused(DownloadConclusion, because: String)
}

extension SegmentAnswer {
    /// Creates the verdict on a request that ended without a response for the task. Returns nil if only the end itself
    /// matters.
    package init?(unanswered outcome: ExchangeEnd.Outcome) {
        guard case .challenged(let challenge) = outcome else { return nil }
        self = .refused(.question(challenge), because: "the server sent a challenge")
    }
}

extension SegmentRequest {
    /// The fields `Range` and `If-Range`.
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

    /// Judges a response like ``Verdict/judge(head:plan:partial:policy:now:)``, but never replaces the file. Where that
    /// function would start again, this one stops the use of the source for parts. Verdicts that make the task wait or
    /// end are left to the task, which keeps all bytes.
    ///
    /// - Parameters:
    ///   - file: the file as the task's own URL described it.
    ///   - policy: the settings of the task.
    ///   - now: seconds since 1970.
    package func judge(
        head: ResponseHead, file: SourceIdentity, policy: ResponsePolicy, now: Double
    ) -> SegmentAnswer {
        var known = identity ?? file
        if identity == nil, head.status == 206 || head.isPart {
            let given = Validators(head: head)
            guard given.identifyBytes else {
                return .distrusted(
                    "the mirror sent no strong validator, so this version of the file cannot be recognised")
            }
            if let doubt = file.doubt(head) { return .distrusted(doubt) }
            // From now on the mirror's own validators count, because tags differ from server to server.
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
        // Parts are checked below. Any other response from another URL is trusted more readily.
        partial.isOfAnotherURL = known.isOfAnotherURL && head.status != 206 && !head.isPart
        var policy = policy
        // A refused extra connection says nothing about the task.
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
            return .refused(.doubt(doubt, failure), because: "the response to the request for a part is suspect")
        case .append, .fresh, .compare, .alreadyComplete:
            return .distrusted("the server did not send the requested part")
        }
    }
}

extension SourceIdentity {
    /// Returns the reason to doubt that a mirror has this file. Returns nil if the length is the same and a digest will
    /// verify the whole file. The entity tag is not considered, because each mirror chooses its own tags.
    fileprivate func doubt(_ head: ResponseHead) -> String? {
        guard head.total == total else { return "the mirror's file has another length" }
        guard !digests.isEmpty else {
            return "without a checksum or digest, nothing proves that the mirror has the same file"
        }
        return DigestFields.contradict(digests, DigestFields.expected(head: head, wholeBody: false))
            ? "the mirror's file has another digest" : nil
    }
}

extension ResponseHead {
    /// The length of the whole file, from the response with a part.
    fileprivate var total: Int64? {
        guard let field = headers.first("Content-Range"), case .bytes(_, _, let total)? = ContentRange(field: field)
        else {
            return nil
        }
        return total
    }
}
