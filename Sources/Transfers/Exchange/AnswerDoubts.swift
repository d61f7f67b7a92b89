import NightshiftAPI
import Store

/// Answers that would cost bytes, or the right file, and look like nobody's new version of it: a network's log-in page, a
/// gateway's word of welcome, a server of the wrong name.
///
/// Such an answer is not believed at once. It is asked again after pauses that grow; only when the same kind of answer has come
/// so often is it the new version. A file that is really replaced by something of another kind comes a little later for that.
package enum AnswerDoubts {
    /// Answers of one kind that are believed, the first included.
    package static let enough = 5
    /// Seconds until it is asked again after the first, the second and each further such answer: three quarters of an hour in
    /// all, in which somebody who meets a log-in page has logged in, or gone elsewhere.
    private static let pauses: [Double] = [30, 120, 480, 1_920]

    /// Seconds to wait after an answer of this kind has come so often.
    package static func pause(times: Int) -> Double { pauses[min(max(times, 1), pauses.count) - 1] }

    /// The decision about a response for which the known file would be given up.
    ///
    /// - Returns: nil where it is to be believed, else what to keep in mind, and why, for a person.
    static func doubt(
        _ head: ResponseHead, _ partial: PartialBytes, isBehindPortal: Bool
    ) -> (doubt: AnswerDoubt, failure: TransferFailure)? {
        // Nobody in between knows how to send a part.
        guard (200...299).contains(head.status), head.status != 206, isStrange(head, partial) else { return nil }
        guard let doubt = counted(head, after: partial.doubt, isBehindPortal: isBehindPortal) else { return nil }
        return (doubt, failure(head, partial, times: doubt.times))
    }

    /// What to keep in mind of an answer that is strange; nil where its kind has come often enough.
    static func counted(_ head: ResponseHead, after last: AnswerDoubt?, isBehindPortal: Bool) -> AnswerDoubt? {
        let fingerprint = fingerprint(head)
        let known = last?.fingerprint == fingerprint ? last?.times ?? 0 : 0
        // A response proves nothing while the network itself says that it is closed.
        let times = isBehindPortal ? max(known, 1) : known + 1
        return times < enough ? AnswerDoubt(fingerprint: fingerprint, times: times) : nil
    }

    private static func isStrange(_ head: ResponseHead, _ partial: PartialBytes) -> Bool {
        let given = Validators(head: head)
        let (before, now) = (partial.mediaType, head.mediaType)
        let hasSameLength = partial.total != nil && head.contentLength == partial.total
        if isPage(now), before.map({ !isPage($0) }) ?? !hasSameLength { return true }
        // Another server may well call it something else.
        guard !partial.isOfAnotherURL else { return false }
        if let before, let now, before != now { return true }
        let hasValidators = given.entityTag != nil || given.lastModified != nil
        let hadValidators = partial.validators.entityTag != nil || partial.validators.lastModified != nil
        // Whoever has named the file's version, or its type, does so again. One of several servers may leave validators out: then
        // the same type speaks for the same file together with the same length, which has to be announced.
        guard !hasValidators, hadValidators || (before != nil && now == nil) else { return false }
        return before != now || !hasSameLength
    }

    static func isPage(_ type: String?) -> Bool { type == "text/html" || type == "application/xhtml+xml" }

    private static func fingerprint(_ head: ResponseHead) -> String {
        // Log-in pages have another query each time.
        let place = (try? TransferURL(parsing: head.url).originAndPath) ?? ""
        return "\(head.status) \(head.mediaType ?? "-") \(place)"
    }

    private static func failure(_ head: ResponseHead, _ partial: PartialBytes, times: Int) -> TransferFailure {
        let was = words(partial.total, partial.mediaType)
        let came = words(head.contentLength, head.mediaType)
        let validators = Validators(head: head)
        let isBare = validators.entityTag == nil && validators.lastModified == nil
        return TransferFailure(
            .resourceChanged,
            "Where \(was) had begun to come, the server answered with \(came)\(isBare ? ", without any validator" : ""). "
                + "That may be a network's log-in page: the bytes here are kept and it is asked again "
                + "(such an answer counts as a new version when it has come \(enough) times; this was number \(times)).",
            status: head.status)
    }

    private static func words(_ length: Int64?, _ type: String?) -> String {
        "\(length.map { "\($0) bytes" } ?? "a file")\(type.map { " of \($0)" } ?? " of an unknown type")"
    }
}

extension ResponseHead {
    /// The type in `Content-Type`, in lower case and without parameters.
    var mediaType: String? {
        guard let field = headers.first("Content-Type") else { return nil }
        let type = field.prefix { $0 != ";" && $0 != "," }
        let text = String(type).trimmedOfBlanks.lowercased()
        return text.isEmpty || text.utf8.count > 255 ? nil : text
    }
}
