import NightshiftAPI

/// Checks whether the validators and digests of a response apply to bytes from an earlier response.
///
/// An entity tag is unique for one resource only (RFC 9110, section 8.8.3), and a date not even for that: two hosts may
/// use the same values for different files.
extension PartialBytes {
    /// Returns whether the validators in `head` may be compared with the validators of the bytes on disk.
    ///
    /// The comparison is allowed if both belong to one resource (signatures in the URL are ignored), or if a digest
    /// will verify the complete file. If the original URL now redirects to another resource, both the entity tag and
    /// the date must agree.
    func sharesValidators(with head: ResponseHead) -> Bool {
        if isVerified || isOfSamePlace(as: head) { return true }
        return !isOfAnotherURL && (place == nil || validators.confirmsTwice(Validators(head: head)))
    }

    /// Returns whether the bytes came from the same resource as the response `head`.
    func isOfSamePlace(as head: ResponseHead) -> Bool {
        guard let place, let there = try? TransferURL(parsing: head.url) else { return false }
        if place.contains("?") { return there.place == place }
        // Rows that older versions of the service wrote lack the query. While the URL is unchanged, so is its query.
        return !isOfAnotherURL && there.originAndPath == place
    }

    /// Returns whether the response announces another digest of the whole file than earlier responses did.
    func contradictsDigests(of head: ResponseHead) -> Bool {
        DigestFields.contradict(digests, DigestFields.expected(head: head, wholeBody: false))
    }
}
