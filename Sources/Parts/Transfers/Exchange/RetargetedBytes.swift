import NightshiftAPI

/// The bytes of a download that came from another URL than the task's current one.
///
/// A new URL may lead to the same file on another server with its own validators, or to another file. The download may
/// continue from these bytes in one of three cases:
///
/// - The strong entity tag is the same, and the URLs differ only in their signatures, as with signed links.
/// - The complete file will be compared with a digest, the length of the whole is the same, and the last bytes on disk
///   equal the same bytes fetched again. This is not a proof, but the digest detects wrong bytes.
/// - All bytes on disk equal the same bytes fetched again. Only mirrors are compared in this way, because they must not
///   cause bytes to be discarded. If the task's own URL was changed, the download starts again instead. This costs as
///   much, and can be resumed after an interruption.
package struct RetargetedBytes {
    /// The number of bytes to compare: more than a few final lines that all versions share, and less than a quarter of
    /// a second on a slow connection.
    package static let overlap: Int64 = 64 << 10

    package static let unproven = "nothing proves that the bytes on disk belong to the file at the new URL"

    static let unknownVersion = "the server at the new URL does not confirm the version of the bytes on disk"

    static let otherDigest = "the file at the new URL has another digest"

    private let partial: PartialBytes

    /// Creates the value; returns nil if the bytes came from the current URL.
    package init?(_ partial: PartialBytes) {
        guard partial.isOfAnotherURL else { return nil }
        self.partial = partial
    }

    /// The offset at which the comparison of the last bytes begins; nil if the comparison would prove too little.
    private var overlapStart: Int64? {
        guard let total = partial.total, partial.count >= Self.overlap, partial.count <= total else { return nil }
        return partial.count - Self.overlap
    }

    /// The request for these bytes. The first request has the entity tag, the second is for the bytes to compare, and
    /// the last is for the whole file.
    var plan: ExchangePlan {
        if partial.condition == .entityTag, partial.validators.strongEntityTag != nil,
            partial.isVerified || !partial.isKept
        {
            var own = partial
            own.isOfAnotherURL = false
            return ExchangePlan(partial: own)
        }
        guard partial.isVerified, partial.condition != .unusable, let start = overlapStart else {
            return ExchangePlan(offset: 0, condition: partial.isKept ? .unconditional : .unusable, headers: [])
        }
        return ExchangePlan(
            offset: start, condition: .unconditional, headers: [HeaderField(name: "Range", value: "bytes=\(start)-")])
    }

    /// Decides the meaning of the response to ``plan``; nil applies the rules for bytes of the same URL.
    ///
    /// - Parameter now: seconds since 1970.
    func judge(head: ResponseHead, plan: ExchangePlan, now: Double) -> Verdict? {
        switch head.status {
        case 206: judgePart(head, plan, now)
        case _ where head.isPart: judgePart(head, plan, now)
        case _ where HTTPStatus.bringsRepresentation(head.status): judgeWhole(head, plan, now)
        case 400 where plan.asksForRange, 412 where plan.asksForRange:
            compare(instead: plan, because: "the server rejected the request for the rest (\(head.status))")
        case 416 where plan.asksForRange:
            .startAgain(reason: "the server has no bytes at the offset where the download continues")
        default: nil
        }
    }

    private func judgePart(_ head: ResponseHead, _ plan: ExchangePlan, _ now: Double) -> Verdict? {
        guard !head.isMultipartRanges, let field = head.headers.first("Content-Range"),
            case .bytes(let first, let last, let total)? = ContentRange(field: field)
        else {
            return .startAgain(reason: "the server sent a part without a valid Content-Range")
        }
        if let total, total != partial.total { return .startAgain(reason: differs(total)) }
        if partial.contradictsDigests(of: head) { return .startAgain(reason: Self.otherDigest) }
        if let tag = partial.validators.strongEntityTag, tag == Validators(head: head).strongEntityTag {
            if partial.isOfSamePlace(as: head) { return nil }
            guard partial.isVerified else { return .startAgain(reason: Self.unproven) }
        }
        if plan.condition == .entityTag {
            return compare(instead: plan, because: Self.unknownVersion)
        }
        guard let total, first <= plan.offset, last >= partial.count || last + 1 == total, !head.isEncoded,
            head.contentLength ?? (last - first + 1) == last - first + 1
        else {
            return .startAgain(reason: "the server sent a part that cannot be compared with the bytes on disk")
        }
        var representation = Representation(whole: head, now: now)
        representation.total = total
        representation.acceptsRanges = true
        return .compare(representation, offset: first, length: last - first + 1)
    }

    private func judgeWhole(_ head: ResponseHead, _ plan: ExchangePlan, _ now: Double) -> Verdict {
        var representation = Representation(whole: head, now: now)
        if let total = representation.total, let expected = partial.total, total != expected {
            return .fresh(representation, restart: differs(total))
        }
        if partial.contradictsDigests(of: head) { return .fresh(representation, restart: Self.otherDigest) }
        if plan.comparesAll {
            guard !head.isEncoded, representation.total ?? .max >= partial.count else {
                return .fresh(representation, restart: Self.unproven)
            }
            return .compare(representation, offset: 0, length: representation.total)
        }
        if !head.refusesRanges, plan.condition == .entityTag {
            guard partial.isVerified, overlapStart != nil else { return .fresh(representation, restart: Self.unproven) }
            return .askAgain(.unconditional, reason: Self.unknownVersion)
        }
        representation.acceptsRanges = false
        return .fresh(representation, restart: "the server does not send parts of this file")
    }

    private func compare(instead plan: ExchangePlan, because reason: String) -> Verdict {
        plan.condition == .entityTag && partial.isVerified && overlapStart != nil
            ? .askAgain(.unconditional, reason: reason) : .startAgain(reason: Self.unproven)
    }

    private func differs(_ total: Int64) -> String {
        "the file at the new URL has \(total) bytes, "
            + (partial.total.map { "but the file at the previous URL had \($0)" }
                ?? "and the length of the file at the previous URL is unknown")
    }
}

extension ExchangePlan {
    /// Whether the plan requests the whole file in order to compare the bytes on disk with it.
    var comparesAll: Bool { headers.isEmpty && condition == .unconditional }
}
