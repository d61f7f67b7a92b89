import NightshiftAPI
import Store

/// Answers to the requests of an upload of which a server is known to keep something.
extension AnswerDoubts {
    /// The decision about a response in which no word is of the upload's protocol.
    ///
    /// A query is asked of the upload resource alone, and whoever knows it answers in the protocol's words; only that it is gone
    /// (404, 410) is often said without them. The answer to an append may be the target's own, which has none: it is doubted where it is
    /// a page. Behind a portal whatever would cost something is doubted.
    ///
    /// - Returns: nil where it is to be believed, or costs nothing; else what to keep in mind, and why, for a person.
    static func doubt(
        _ head: ResponseHead, to purpose: UploadRequest.Purpose, _ resource: UploadResource, isBehindPortal: Bool
    ) -> (doubt: AnswerDoubt, failure: TransferFailure)? {
        guard isStrange(head, to: purpose, isBehindPortal: isBehindPortal) else { return nil }
        guard let doubt = counted(head, after: resource.doubt, isBehindPortal: isBehindPortal) else { return nil }
        return (doubt, failure(head, resource, times: doubt.times))
    }

    private static func isStrange(
        _ head: ResponseHead, to purpose: UploadRequest.Purpose, isBehindPortal: Bool
    ) -> Bool {
        switch (purpose, head.status) {
        case (.create, _), (.cancel, _): false
        // These cost nothing.
        case (_, 423), (.append, 409): false
        case (_, let status) where HTTPStatus.isTransient(status): false
        case (_, 404), (_, 410), (.append, 413): isBehindPortal
        case (.query, _): true
        case (.append, _): isBehindPortal || isPage(head.mediaType)
        }
    }

    private static func failure(_ head: ResponseHead, _ resource: UploadResource, times: Int) -> TransferFailure {
        TransferFailure(
            .resourceChanged,
            "Where \(resource.offset) of \(resource.length) bytes had been acknowledged, the answer was "
                + "\(HTTPStatus.name(head.status))\(head.mediaType.map { " (\($0))" } ?? ""), without a word of the upload. "
                + "That may be a network's log-in page: what the server has is kept and it is asked again "
                + "(such an answer is believed when it has come \(enough) times; this was number \(times)).",
            status: head.status)
    }
}
