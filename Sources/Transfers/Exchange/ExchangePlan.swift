package import NightshiftAPI
package import Store

/// The bytes of a download that are on disk, and what is known of the representation they belong to.
package struct PartialBytes: Hashable, Sendable {
    /// The first `count` bytes are here.
    package var count: Int64
    /// Length of the whole representation, where it is known.
    package var total: Int64?
    package var validators: Validators
    /// The form of range request that comes next; ``RangeCondition/entityTag`` for bytes of a fresh response.
    package var condition: RangeCondition
    /// Whether they came from another URL than is asked now: see ``RetargetedBytes``.
    package var isOfAnotherURL: Bool
    /// ``TransferURL/place`` of the resource that the validators are of; nil where it was not noted.
    package var place: String?
    /// The digests of the whole file, as announced by the responses that the bytes came from.
    package var digests: [Checksum] = []
    /// Whether the whole will be compared with a digest of the file that the bytes are of.
    package var isVerified = false
    /// Whether they are only given up for what is proven to be the same file: a mirror is asked.
    package var isKept = false
    /// The type of the response that they came with.
    package var mediaType: String?
    /// Why they are not continued, where that is settled.
    package var lossReason: String?
    /// The answer that was not believed last.
    package var doubt: AnswerDoubt?

    package init(
        count: Int64, total: Int64?, validators: Validators, condition: RangeCondition, isOfAnotherURL: Bool = false
    ) {
        self.count = count
        self.total = total
        self.validators = validators
        self.condition = condition
        self.isOfAnotherURL = isOfAnotherURL
    }
}

/// The ways to ask for the rest of a file, tried in this order.
///
/// Some servers ignore a range that comes with an entity tag and serve it with a date, others want neither; what is asked
/// without a condition is checked all the more when it comes.
package enum RangeCondition: String, Hashable, Sendable, Codable, CaseIterable {
    case entityTag
    case lastModified
    /// `Range` alone; the answer's validators and total must be the known ones.
    case unconditional
    /// The server does not serve ranges of this file: only from the start.
    case unusable
}

extension RangeCondition {
    /// The first condition from this one on that `validators` can express.
    func usable(with validators: Validators) -> RangeCondition {
        switch self {
        case .entityTag:
            validators.strongEntityTag == nil ? RangeCondition.lastModified.usable(with: validators) : self
        case .lastModified: validators.strongLastModified == nil ? .unconditional : self
        case .unconditional, .unusable: self
        }
    }

    /// The next way of asking after this one did not bring a range; nil when there is none left.
    func following(with validators: Validators) -> RangeCondition? {
        switch self {
        case .entityTag: RangeCondition.lastModified.usable(with: validators)
        case .lastModified: .unconditional
        case .unconditional, .unusable: nil
        }
    }
}

/// The request that the server gets next.
package struct ExchangePlan: Hashable, Sendable {
    /// 0 asks for the whole representation, without a range.
    package var offset: Int64
    package var condition: RangeCondition
    /// `Range` and `If-Range`, or nothing.
    package var headers: [HeaderField]

    package init(offset: Int64, condition: RangeCondition, headers: [HeaderField]) {
        self.offset = offset
        self.condition = condition
        self.headers = headers
    }
}

extension ExchangePlan {
    /// Whether a part is asked for.
    package var asksForRange: Bool { !headers.isEmpty }

    /// Asks for what is missing, or for the whole where the bytes here cannot be continued safely: there are none, the
    /// server serves no ranges, their version cannot be recognised, or they are more than the file has.
    ///
    /// When all bytes are here but nobody has said that they are the whole (a crash came in between), the last byte is asked
    /// for again: unlike a range behind the end, which servers answer in many ways, that brings an ordinary 206 whose
    /// validators and total are checked like any other. A file of one byte is simply asked for whole.
    package init(partial: PartialBytes?) {
        if let retargeted = partial.flatMap(RetargetedBytes.init) {
            self = retargeted.plan
            return
        }
        guard let partial, partial.count > 0, partial.condition != .unusable, partial.validators.identifyBytes,
            partial.count <= partial.total ?? .max
        else {
            self.init(offset: 0, condition: partial?.condition ?? .entityTag, headers: [])
            return
        }
        let offset = partial.count == partial.total ? partial.count - 1 : partial.count
        guard offset > 0 else {
            self.init(offset: 0, condition: partial.condition, headers: [])
            return
        }
        let condition = partial.condition.usable(with: partial.validators)
        var headers = [HeaderField(name: "Range", value: "bytes=\(offset)-")]
        switch condition {
        case .entityTag:
            if let tag = partial.validators.strongEntityTag {
                headers.append(HeaderField(name: "If-Range", value: tag))
            }
        case .lastModified:
            if let date = partial.validators.strongLastModified {
                headers.append(HeaderField(name: "If-Range", value: date))
            }
        case .unconditional, .unusable: break
        }
        self.init(offset: offset, condition: condition, headers: headers)
    }
}
