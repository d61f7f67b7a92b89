package import NightshiftAPI
package import Store

/// The settings of a task for judging responses.
package struct ResponsePolicy: Hashable, Sendable {
    package var retry: RetryPolicy
    package var failsOnHTTPError: Bool
    /// Whether bytes on disk may be discarded for other bytes.
    package var mayRestart: Bool
    /// Whether the network requires a log-in (captive portal).
    package var isBehindPortal = false
    /// The expected name of the file, if the request determines it; otherwise nil.
    package var expectedName: String?
    /// The last suspect first response.
    package var firstDoubt: SuspectResponse?
    /// Whether the request goes to the task's own URL, not to a mirror.
    package var asksOwnURL = true
    /// Whether the request has its own range or condition. If so, every response is the result of the task.
    package var asksConditionally = false
    /// Whether the request has a method other than GET, or a body. If so, every success is the result of the task.
    package var hasOwnMethod = false
    /// Whether the task has a user name and a password, or an `Authorization` of its own.
    package var hasLogin = false
    /// Whether the service decodes a body with a content coding. The library decodes the files of apps.
    package var decodes = true

    package init(retry: RetryPolicy, failsOnHTTPError: Bool, mayRestart: Bool = true) {
        self.retry = retry
        self.failsOnHTTPError = failsOnHTTPError
        self.mayRestart = mayRestart
    }
}

/// The meaning of a response for a download.
package enum Verdict: Hashable, Sendable {
    /// The body is the whole representation and is written from offset 0. `restart` is the reason for discarding bytes
    /// on disk.
    case fresh(Representation, restart: String?)
    /// The body continues the bytes on disk. It is written from `offset`, which is at most the number of bytes on disk.
    case append(Representation, offset: Int64, length: Int64?)
    /// The body begins at `offset` with bytes that are already on disk, and continues with missing bytes. The service
    /// compares the beginning of the body with the bytes on disk to find out whether the file is the same. It writes
    /// nothing before this whole beginning agrees.
    case compare(Representation, offset: Int64, length: Int64?)
    /// All bytes are already on disk.
    case alreadyComplete
    /// The exchange ends, and another request in this form follows at once. The bytes on disk are kept.
    case askAgain(RangeCondition, reason: String)
    /// The exchange ends, the bytes on disk are discarded, and a request for the whole file follows at once.
    case startAgain(reason: String)
    /// A temporary error. The bytes on disk are kept, and the request is repeated later.
    case retryLater(TransferFailure, after: RetryAfter?)
    case fail(TransferFailure)
    /// The response may not come from the file's server. The exchange ends, and the bytes on disk are kept. See
    /// ``SuspectResponses``.
    case doubt(SuspectResponse, TransferFailure)
}

/// The facts about a representation that its response states.
package struct Representation: Hashable, Sendable {
    package var validators: Validators
    /// The length of the whole; nil if unknown.
    package var total: Int64?
    /// False if the server has said or shown that it serves no byte ranges of this file; otherwise ranges are tried.
    package var acceptsRanges: Bool

    package init(validators: Validators, total: Int64?, acceptsRanges: Bool) {
        self.validators = validators
        self.total = total
        self.acceptsRanges = acceptsRanges
    }
}

extension Representation {
    /// The tolerated difference in seconds between this clock and that of a server which sends no `Date`.
    private static let clockTolerance = 60.0

    /// Reads the head of a response with the whole representation.
    ///
    /// The length is the number of bytes as sent, encoded or not. A chunked message has no length. A response without
    /// `Date` gets the time of its arrival (RFC 9110, section 6.6.1), minus a minute because the clocks may differ. An
    /// encoded response, which was not requested, keeps only a strong entity tag. A strong tag is unique to the
    /// encoding, while a date or a weak tag would also match the bytes without the encoding.
    init(whole head: ResponseHead, now: Double) {
        var validators = Validators(head: head)
        if validators.date == nil, validators.lastModified != nil {
            validators.date = HTTPDate.format(now - Self.clockTolerance)
        }
        if head.isEncoded {
            validators = Validators(entityTag: validators.strongEntityTag)
        }
        self.init(validators: validators, total: head.contentLength, acceptsRanges: !head.refusesRanges)
    }
}

extension ResponseHead {
    /// The rule for the end of the body.
    package var framing: ResponseFraming {
        ResponseFraming(
            status: status, method: method, httpVersion: httpVersion, lengths: headers.all("Content-Length"),
            codings: headers.all("Transfer-Encoding"))
    }

    /// The length of the body, if the head determines it. In a response to HEAD and some others, the announced length
    /// is not that of the body (RFC 9110, section 6.4.1).
    var contentLength: Int64? { framing.length }

    /// The error for a head that announces two lengths (RFC 9112, section 6.3): the end of its body is ambiguous.
    var lengthContradiction: TransferFailure? {
        guard case .contradictory(let lengths) = framing else { return nil }
        let words =
            lengths.count == 1
            ? "The server announced a length that is not a number: \(lengths[0])."
            : "The server announced different lengths for one response: \(lengths.joined(separator: " and "))."
        return TransferFailure(.protocolError, words, status: status)
    }

    /// Whether the body has a content coding.
    var isEncoded: Bool {
        headers.all("Content-Encoding").contains {
            let coding = $0.trimmedOfBlanks.lowercased()
            return !coding.isEmpty && coding != "identity"
        }
    }

    var refusesRanges: Bool {
        headers.first("Accept-Ranges")?.trimmedOfBlanks.lowercased() == "none"
    }

    var isMultipartRanges: Bool {
        headers.first("Content-Type")?.trimmedOfBlanks.lowercased().hasPrefix("multipart/byteranges") ?? false
    }
}
