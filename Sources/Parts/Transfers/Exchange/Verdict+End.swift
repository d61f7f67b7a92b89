package import NightshiftAPI

/// The state of the file after a body has ended.
package enum EndVerdict: Hashable, Sendable {
    /// All bytes of the file have arrived.
    case whole
    /// The response was complete but only a part of the file. The rest is requested at once.
    case more
    /// The body ended early. The bytes are kept, and the download continues later.
    case truncated(TransferFailure)
    /// The body is longer than announced. The bytes cannot be trusted, so the download starts again.
    case tooLong(TransferFailure)
}

extension Verdict {
    /// Decides whether a file is complete after a body has ended.
    ///
    /// Byte counts take precedence over the transport's report. If all bytes have arrived, it does not matter how the
    /// connection ended. If bytes are missing, the file is incomplete even if the response claims to be complete. The
    /// transport decides only if no length is known.
    ///
    /// - Parameters:
    ///   - total: the length of the whole representation; nil if unknown.
    ///   - announcedEnd: the file offset at which the body of this response should end; nil if not announced.
    ///   - count: the bytes of the file that have arrived.
    ///   - complete: whether the body ended as HTTP requires.
    package static func judgeEnd(total: Int64?, announcedEnd: Int64?, count: Int64, complete: Bool) -> EndVerdict {
        if let bound = [total, announcedEnd].compactMap({ $0 }).min(), count > bound {
            return .tooLong(
                TransferFailure(.protocolError, "The server announced \(bound) bytes and sent at least \(count)."))
        }
        if let total {
            if count == total { return .whole }
            if let announcedEnd, announcedEnd < total, count == announcedEnd { return .more }
            return .truncated(
                TransferFailure(.truncated, "The connection ended after \(count) of \(total) bytes."))
        }
        if let announcedEnd {
            if count == announcedEnd { return .more }
            return .truncated(
                TransferFailure(.truncated, "The connection ended after \(count) of at least \(announcedEnd) bytes."))
        }
        if complete { return .whole }
        return .truncated(
            TransferFailure(.truncated, "The connection broke after \(count) bytes; the total is unknown."))
    }
}
