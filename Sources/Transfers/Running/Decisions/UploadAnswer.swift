package import NightshiftAPI

/// The body of the last response to an upload.
package enum AnswerBody: Hashable, Sendable {
    case memory([UInt8])
    /// A body that is too long for memory: this many bytes in a file of the exchange.
    case file(count: Int64)

    package static let none = AnswerBody.memory([])

    package var count: Int64 {
        switch self {
        case .memory(let bytes): Int64(bytes.count)
        case .file(let count): count
        }
    }
}

/// The last response to an upload, as far as it could be stored.
package struct UploadAnswer: Hashable, Sendable {
    package var body: AnswerBody
    /// The reason why the body is missing. The server has the upload, so sending it again would not help, and could
    /// perform it twice.
    package var failure: TransferFailure?

    package init(body: AnswerBody, failure: TransferFailure? = nil) {
        self.body = body
        self.failure = failure
    }

    /// The response of an exchange. Nil if the response was not complete, unless this machine's disk was the reason.
    ///
    /// - Parameter file: the number of bytes in the response's file; nil if it did not need one.
    package init?(_ end: ExchangeEnd, file: Int64?) {
        guard end.head != nil else { return nil }
        switch (end.outcome, file) {
        case (.complete, nil):
            self.init(body: .memory(end.body))
        case (.complete, let count?) where count <= Limits.responseBody:
            self.init(body: .file(count: count))
        case (.complete, _):
            let message = "The server has the upload, but its response is larger than \(Limits.responseBody) bytes."
            self.init(body: .none, failure: TransferFailure(.tooLarge, message, status: end.head?.status))
        case (.failed(let failure), _?) where [.diskFull, .inputOutput].contains(failure.code):
            let message = "The server has the upload, but its response could not be stored. \(failure.message)"
            self.init(body: .none, failure: TransferFailure(failure.code, message, status: end.head?.status))
        case (.failed, _), (.cancelled, _), (.challenged, _):
            return nil
        }
    }
}
