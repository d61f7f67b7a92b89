package import NightshiftAPI

/// What the end of a body means for the file.
package enum EndVerdict: Hashable, Sendable {
    /// Every byte is here.
    case whole
    /// The response was whole, but no more than a part of the file: ask for the rest at once.
    case more
    /// The body broke off: keep the bytes and go on later.
    case truncated(TransferFailure)
    /// More came than was announced: nothing here can be trusted; start again.
    case tooLong(TransferFailure)
}

extension Verdict {
    /// Decides whether a file is whole after a body has ended.
    ///
    /// Numbers decide before words: with all bytes here it does not matter how the connection ended, and a response that
    /// calls itself complete is not if bytes are missing. Only where no length is known has the transport the last word.
    ///
    /// - Parameters:
    ///   - total: length of the whole representation, where it is known.
    ///   - announcedEnd: the file offset at which this response's body was to end, where it was announced.
    ///   - count: the bytes of the file that are here.
    ///   - complete: whether the body ended as HTTP says it should.
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
        return .truncated(TransferFailure(.truncated, "The connection broke after \(count) bytes of unknown many."))
    }
}
