import NightshiftAPI

/// Bytes of a download that came from another URL than the task has now.
///
/// A new URL may lead to the same file on another server, whose validators are its own, or to another file. What proves that the
/// bytes go on there:
///
/// - the same strong entity tag of the same place: only the signature is another one, as in signed links;
/// - where the whole is compared with a digest in the end, the length of the whole and the last bytes here, fetched again and
///   compared: no proof, but wrong bytes are found out;
/// - all bytes that are here, fetched again and compared. That is done for mirrors, for which nothing is given up; another URL of
///   the task itself begins again, which costs as much and can be continued.
package struct RetargetedBytes {
    /// Bytes that are compared: more than a few lines that all versions end with, less than a quarter of a second on a slow
    /// line.
    package static let overlap: Int64 = 64 << 10

    package static let unproven = "nothing proves that the bytes here belong to the file at the new URL"

    static let unknownVersion = "the server at the new URL does not know the version of the bytes here"

    static let otherDigest = "the file at the new URL has another digest"

    private let partial: PartialBytes

    /// Nil for bytes of the URL that is asked.
    package init?(_ partial: PartialBytes) {
        guard partial.isOfAnotherURL else { return nil }
        self.partial = partial
    }

    /// Where the comparison of the last bytes begins; nil where it would prove too little.
    private var overlapStart: Int64? {
        guard let total = partial.total, partial.count >= Self.overlap, partial.count <= total else { return nil }
        return partial.count - Self.overlap
    }

    /// Asks by the entity tag first, then for what is compared, then for the whole.
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

    /// Decides what the answer to ``plan`` means; nil leaves it to the rules for bytes of the same URL.
    ///
    /// - Parameter now: seconds since 1970.
    func judge(head: ResponseHead, plan: ExchangePlan, now: Double) -> Verdict? {
        switch head.status {
        case 206: judgePart(head, plan, now)
        case _ where head.isPart: judgePart(head, plan, now)
        case _ where HTTPStatus.bringsRepresentation(head.status): judgeWhole(head, plan, now)
        case 400 where plan.asksForRange, 412 where plan.asksForRange:
            compare(instead: plan, because: "the server rejected the request for the rest (\(head.status))")
        case 416 where plan.asksForRange: .startAgain(reason: "the server has no bytes where the file was to go on")
        default: nil
        }
    }

    private func judgePart(_ head: ResponseHead, _ plan: ExchangePlan, _ now: Double) -> Verdict? {
        guard !head.isMultipartRanges, let field = head.headers.first("Content-Range"),
            case .bytes(let first, let last, let total)? = ContentRange(field: field)
        else {
            return .startAgain(reason: "the server sent a part without saying which")
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
            return .startAgain(reason: "the server sent a part that cannot be compared with the bytes here")
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
        "the file at the new URL has \(total) bytes, the one here \(partial.total.map { "\($0)" } ?? "an unknown number")"
    }
}

extension ExchangePlan {
    /// Whether the whole is asked for so that the bytes here can be compared with it.
    var comparesAll: Bool { headers.isEmpty && condition == .unconditional }
}
