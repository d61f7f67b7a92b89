import NightshiftAPI

/// What a response's validators and digests say of bytes that came from somewhere.
///
/// An entity tag is unique for one resource only (RFC 9110, section 8.8.3), and a date not even for that: two hosts may give
/// different files the same ones.
extension PartialBytes {
    /// Whether the validators in `head` may be compared with those of the bytes here.
    ///
    /// They may where both are of one resource, signatures aside, and where a digest is going to find out in the end. Where the URL
    /// that the bytes came from redirects to another place now, the tag and the date have to agree.
    func sharesValidators(with head: ResponseHead) -> Bool {
        if isVerified || isOfSamePlace(as: head) { return true }
        return !isOfAnotherURL && (place == nil || validators.confirmsTwice(Validators(head: head)))
    }

    /// Whether they came from the resource that `head` is of.
    func isOfSamePlace(as head: ResponseHead) -> Bool {
        guard let place, let there = try? TransferURL(parsing: head.url) else { return false }
        if place.contains("?") { return there.place == place }
        // Rows of older services do not tell the query. As long as the URL is the same, so is that.
        return !isOfAnotherURL && there.originAndPath == place
    }

    /// Whether the server announces another digest of the whole than was announced before.
    func contradictsDigests(of head: ResponseHead) -> Bool {
        DigestFields.contradict(digests, DigestFields.expected(head: head, wholeBody: false))
    }
}
