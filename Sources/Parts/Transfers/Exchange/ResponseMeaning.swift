import NightshiftAPI

/// The kind of request whose response is judged.
package enum Asked: String, Hashable, Sendable, CaseIterable {
    /// A request for a whole file.
    case whole
    /// A request for the missing part of a file.
    case rest
    /// A request for an answer: it has its own method, body, range or condition, or it is an upload.
    case answer
}

/// The meaning of a final response for the task, according to its status. [This table](../../../docs/transfers.md)
/// describes the rules.
///
/// Downloads over one or several connections, mirrors and uploads all use this decision. Validators, lengths and the
/// end of the body are checked afterwards.
package enum ResponseMeaning: String, Hashable, Sendable, CaseIterable {
    /// The body is the whole file.
    case whole
    /// The body is, or claims to be, a part of the file.
    case part
    /// The body is the result, whatever the status. An incomplete result is never resumed.
    case result
    /// A success without the file: the file is not ready yet.
    case notReady
    /// The response does not answer the request for the rest, so the whole file is requested.
    case notTheRest
    /// The server rejected the range, or its condition.
    case rangeRejected
    /// The server has no bytes at the offset where the rest begins.
    case rangeUnsatisfied
    /// A temporary error.
    case passing
    /// A permanent refusal, or a success without a file.
    case refused
    /// A status that is not a final response in HTTP.
    case invalid

    /// Decides the meaning of a status.
    ///
    /// - Parameter part: whether `Content-Range` or the status says that the body is a part: ``ResponseHead/isPart``.
    package init(status: Int, isPart: Bool, asked: Asked, policy: ResponsePolicy) {
        guard status >= 200 else {
            self = .invalid
            return
        }
        guard (200...299).contains(status) else {
            self = .init(failure: status, asked, policy)
            return
        }
        if asked == .answer {
            self = .result
        } else if isPart {
            self = .part
        } else if HTTPStatus.bringsRepresentation(status) {
            self = .whole
        } else if status == 202, policy.failsOnHTTPError, policy.retry == .transientResponses {
            self = .notReady
        } else if asked == .rest {
            self = .notTheRest
        } else {
            self = policy.failsOnHTTPError ? .refused : .result
        }
    }

    private init(failure status: Int, _ asked: Asked, _ policy: ResponsePolicy) {
        switch (asked, status) {
        case (.rest, 400), (.rest, 412): self = .rangeRejected
        case (.rest, 416): self = .rangeUnsatisfied
        case (.rest, 304): self = .notTheRest
        // The network sends 511, never the origin server (RFC 6585, section 6).
        case (_, 511): self = .passing
        case _ where policy.retry == .transientResponses && HTTPStatus.isTransient(status): self = .passing
        case _: self = policy.failsOnHTTPError ? .refused : .result
        }
    }
}

extension ResponseHead {
    /// Whether the body is a part of the representation, according to its status or to a `Content-Range` in bytes.
    /// Broken servers and caches send that field with 200, too. A range of all bytes means that the body is the whole.
    var isPart: Bool {
        guard status != 206 else { return lengthOfAllBytes == nil }
        return HTTPStatus.bringsRepresentation(status) && hasByteRange && lengthOfAllBytes == nil
    }

    /// The length of the file if `Content-Range` covers all of its bytes.
    var lengthOfAllBytes: Int64? {
        guard !isMultipartRanges, let field = headers.first("Content-Range"),
            case .bytes(first: 0, let last, let total?)? = ContentRange(field: field), last + 1 == total,
            contentLength == nil || contentLength == total
        else { return nil }
        return total
    }

    /// Whether `Content-Range` counts bytes. Some services use the field to number the records of a list, which HTTP
    /// does not define.
    private var hasByteRange: Bool {
        guard let field = headers.first("Content-Range") else { return false }
        var scanner = FieldScanner(field)
        scanner.skipSpaces()
        guard scanner.consumeIgnoringCase("bytes") else { return false }
        return scanner.isAtEnd || !(scanner.next?.isASCIILetter ?? false)
    }
}
