import NightshiftAPI

/// The subject of a request whose response is judged.
package enum Asked: String, Hashable, Sendable, CaseIterable {
    /// A file, from its first byte on.
    case whole
    /// The missing part of a file.
    case rest
    /// An answer of the server: the request has a method, a body, a range or a condition of its own, or is an upload.
    case answer
}

/// The use of a final response for the one who asked, as its status says. [The table](../../../docs/transfers.md) is for readers.
///
/// Downloads over one connection and over several, mirrors and uploads all decide by it; validators, lengths and ends come
/// after it.
package enum ResponseMeaning: String, Hashable, Sendable, CaseIterable {
    /// The body is the whole file.
    case whole
    /// The body is a part of the file, or is said to be one.
    case part
    /// The body is the result, whatever it is. It is never continued.
    case result
    /// A success without the file: it is not ready yet.
    case notReady
    /// It answers something other than the request for the rest: the whole is asked for.
    case notTheRest
    /// The range, or its condition, is not understood.
    case rangeRejected
    /// There are no bytes where the rest was to begin.
    case rangeUnsatisfied
    /// Trouble that passes.
    case passing
    /// A refusal for good, or a success that brings no file.
    case refused
    /// No final response of HTTP.
    case invalid

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
        // 511 is a network's word, never the server's (RFC 6585, section 6).
        case (_, 511): self = .passing
        case _ where policy.retry == .transientResponses && HTTPStatus.isTransient(status): self = .passing
        case _: self = policy.failsOnHTTPError ? .refused : .result
        }
    }
}

extension ResponseHead {
    /// Whether the body is a part of the representation: by its status, or by a `Content-Range` in bytes, which broken servers
    /// and caches send with 200, too. One that names all bytes says that it is the whole.
    var isPart: Bool {
        guard status != 206 else { return lengthOfAllBytes == nil }
        return HTTPStatus.bringsRepresentation(status) && hasByteRange && lengthOfAllBytes == nil
    }

    /// The length of the file where `Content-Range` says that the body is all of it.
    var lengthOfAllBytes: Int64? {
        guard !isMultipartRanges, let field = headers.first("Content-Range"),
            case .bytes(first: 0, let last, let total?)? = ContentRange(field: field), last + 1 == total,
            contentLength == nil || contentLength == total
        else { return nil }
        return total
    }

    /// Whether `Content-Range` is about bytes. Some services number the records of a list with it, which is no matter of HTTP's.
    private var hasByteRange: Bool {
        guard let field = headers.first("Content-Range") else { return false }
        var scanner = FieldScanner(field)
        scanner.skipSpaces()
        guard scanner.consumeIgnoringCase("bytes") else { return false }
        return scanner.isAtEnd || !(scanner.next?.isASCIILetter ?? false)
    }
}
