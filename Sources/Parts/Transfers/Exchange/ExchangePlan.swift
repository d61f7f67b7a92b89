package import NightshiftAPI
package import Store

/// The bytes of a download that are on disk, and the known facts about their representation.
package struct PartialBytes: Hashable, Sendable {
    /// The number of bytes on disk, counted from the start of the file.
    package var count: Int64
    /// The length of the whole representation; nil if unknown.
    package var total: Int64?
    package var validators: Validators
    /// The form of the next range request. The value is ``RangeCondition/entityTag`` for bytes of a new response.
    package var condition: RangeCondition
    /// Whether the bytes came from another URL than the one requested now: see ``RetargetedBytes``.
    package var isOfAnotherURL: Bool
    /// The ``TransferURL/place`` of the resource that sent the validators; nil if it was not recorded.
    package var place: String?
    /// The digests of the whole file that were announced by the responses with these bytes.
    package var digests: [Checksum] = []
    /// Whether the complete file will be compared with a digest.
    package var isVerified = false
    /// Whether the bytes may be replaced only by a proven copy of the same file. True while a mirror is requested.
    package var isKept = false
    /// The media type of the response with these bytes.
    package var mediaType: String?
    /// The reason why the download cannot continue from these bytes, if that is already decided.
    package var lossReason: String?
    /// The last suspect response.
    package var doubt: SuspectResponse?

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

/// The forms of a request for the rest of a file, tried in this order.
///
/// Some servers ignore a range with an entity tag but accept one with a date; others accept a range only without a
/// condition. A response to an unconditional request is checked more strictly.
package enum RangeCondition: String, Hashable, Sendable, Codable, CaseIterable {
    case entityTag
    case lastModified
    /// `Range` alone. The validators and the total of the response must equal those of the bytes on disk.
    case unconditional
    /// No range can be requested, because the server sends this file only from the start.
    case unusable
}

extension RangeCondition {
    /// Returns the first condition, starting with this one, that `validators` can express.
    func usable(with validators: Validators) -> RangeCondition {
        switch self {
        case .entityTag:
            validators.strongEntityTag == nil ? RangeCondition.lastModified.usable(with: validators) : self
        case .lastModified: validators.strongLastModified == nil ? .unconditional : self
        case .unconditional, .unusable: self
        }
    }

    /// Returns the next form to try after this one did not produce a range; nil after the last one.
    func following(with validators: Validators) -> RangeCondition? {
        switch self {
        case .entityTag: RangeCondition.lastModified.usable(with: validators)
        case .lastModified: .unconditional
        case .unconditional, .unusable: nil
        }
    }
}

/// The plan of a download's next request: its offset, and its range fields.
package struct ExchangePlan: Hashable, Sendable {
    /// The offset at which the request begins; 0 requests the whole representation, without a range.
    package var offset: Int64
    package var condition: RangeCondition
    /// `Range` and `If-Range`, or no fields.
    package var headers: [HeaderField]

    package init(offset: Int64, condition: RangeCondition, headers: [HeaderField]) {
        self.offset = offset
        self.condition = condition
        self.headers = headers
    }
}

extension ExchangePlan {
    /// Whether the request has a range.
    package var asksForRange: Bool { !headers.isEmpty }

    /// Plans a request for the missing bytes. Plans a request for the whole file if the download cannot safely continue
    /// from the bytes on disk: there are no bytes, the server serves no ranges, the version cannot be recognised, or
    /// there are more bytes than the file has.
    ///
    /// After a crash, all bytes may be on disk without confirmation that they are the whole file. In this case the plan
    /// requests the last byte again. Servers answer a range after the end of the file in many ways, but the last byte
    /// produces an ordinary 206 whose validators and total can be checked. A file of one byte is requested as a whole.
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
