package import NightshiftAPI
package import Store

/// How a task takes responses that are no success.
package struct ResponsePolicy: Hashable, Sendable {
    package var retry: RetryPolicy
    package var failsOnHTTPError: Bool
    /// Whether bytes that are here may be given up for others.
    package var mayRestart: Bool
    /// Whether the network says that somebody has to log in.
    package var isBehindPortal = false
    /// The name that the file is to have, as far as the request says it; nil where nothing is known of it.
    package var expectedName: String?
    /// The first answer that was not believed last.
    package var firstDoubt: AnswerDoubt?
    /// Whether the task's own URL is asked, not a mirror.
    package var asksOwnURL = true
    /// Whether the request has a range or a condition of its own: whatever comes is its answer.
    package var asksConditionally = false
    /// Whether the request has another method than GET, or a body: any success is its answer.
    package var hasOwnMethod = false
    /// Whether the file is to hold the decoded bytes of a body that comes in a coding. Apps decode by themselves.
    package var decodes = true

    package init(retry: RetryPolicy, failsOnHTTPError: Bool, mayRestart: Bool = true) {
        self.retry = retry
        self.failsOnHTTPError = failsOnHTTPError
        self.mayRestart = mayRestart
    }
}

/// What a response means for the download that asked.
package enum Verdict: Hashable, Sendable {
    /// The body is the whole representation: written from 0. `restart` says why bytes already here are thrown away.
    case fresh(Representation, restart: String?)
    /// The body continues the bytes here: written from `offset`, which may lie before their end but never behind it.
    case append(Representation, offset: Int64, length: Int64?)
    /// The body begins at `offset` with bytes that are here, and goes on behind them with those that are missing: whether it
    /// is the same file shows when the former are compared. Nothing is written before they all agree.
    case compare(Representation, offset: Int64, length: Int64?)
    /// All bytes are here already.
    case alreadyComplete
    /// Break off and ask again at once in this way; the bytes here are kept.
    case askAgain(RangeCondition, reason: String)
    /// Break off, throw the bytes away and ask again at once for the whole.
    case startAgain(reason: String)
    /// Trouble that passes: keep the bytes and try again later.
    case retryLater(TransferFailure, after: RetryAfter?)
    case fail(TransferFailure)
    /// Break off and keep the bytes: the answer may not be the file's server's at all. See ``AnswerDoubts``.
    case doubt(AnswerDoubt, TransferFailure)
}

/// What a response tells about the representation it carries.
package struct Representation: Hashable, Sendable {
    package var validators: Validators
    /// Length of the whole, where it is known.
    package var total: Int64?
    /// False where the server has said or shown that it serves no byte ranges of this; what nobody has said is tried.
    package var acceptsRanges: Bool

    package init(validators: Validators, total: Int64?, acceptsRanges: Bool) {
        self.validators = validators
        self.total = total
        self.acceptsRanges = acceptsRanges
    }
}

extension Representation {
    /// Seconds by which clocks here and at a server without one of its own may differ.
    private static let clockTolerance = 60.0

    /// What the head of a whole response tells.
    ///
    /// The length is that of the bytes as they come, encoded or not; a chunked message has none. A response without `Date` is
    /// given the time of its arrival (RFC 9110, section 6.6.1), a minute earlier because the clocks may differ. Of an
    /// encoded response, which was not asked for, only a strong entity tag is kept: it is unique to the encoding, while a
    /// date or a weak tag would also fit the bytes without it.
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
    /// Where the body ends.
    package var framing: ResponseFraming {
        ResponseFraming(
            status: status, method: method, httpVersion: httpVersion, lengths: headers.all("Content-Length"),
            codings: headers.all("Transfer-Encoding"))
    }

    /// The length of the body, where the head says it: an answer to HEAD and some others only tell of a length
    /// (RFC 9110, section 6.4.1).
    var contentLength: Int64? { framing.length }

    /// What is wrong with a head that announces two lengths (RFC 9112, section 6.3): wherever its body ends, it may be wrong.
    var lengthContradiction: TransferFailure? {
        guard case .contradictory(let lengths) = framing else { return nil }
        let words =
            lengths.count == 1
            ? "The server announced a length that is no number: \(lengths[0])."
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
