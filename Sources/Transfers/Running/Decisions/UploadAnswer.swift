package import NightshiftAPI

/// The body of the last answer to an upload.
package enum AnswerBody: Hashable, Sendable {
    case memory([UInt8])
    /// Longer than memory may hold: so many bytes in the exchange's own file.
    case file(count: Int64)

    package static let none = AnswerBody.memory([])

    package var count: Int64 {
        switch self {
        case .memory(let bytes): Int64(bytes.count)
        case .file(let count): count
        }
    }
}

/// The last answer to an upload, as far as it could be kept.
package struct UploadAnswer: Hashable, Sendable {
    package var body: AnswerBody
    /// Why the body is not here. The server has the upload, so sending it again would not help, and may do it twice.
    package var failure: TransferFailure?

    package init(body: AnswerBody, failure: TransferFailure? = nil) {
        self.body = body
        self.failure = failure
    }

    /// The answer that an exchange has brought; nil where none has come to its end, for whatever reason but this side's disk.
    ///
    /// - Parameter file: bytes in the answer's file; nil where it did not need one.
    package init?(_ end: ExchangeEnd, file: Int64?) {
        guard end.head != nil else { return nil }
        switch (end.outcome, file) {
        case (.complete, nil):
            self.init(body: .memory(end.body))
        case (.complete, let count?) where count <= Limits.responseBody:
            self.init(body: .file(count: count))
        case (.complete, _):
            let message = "The server's answer is larger than \(Limits.responseBody) bytes. The server has the upload."
            self.init(body: .none, failure: TransferFailure(.tooLarge, message, status: end.head?.status))
        case (.failed(let failure), _?) where [.diskFull, .inputOutput].contains(failure.code):
            let message = "The server's answer could not be kept, but the server has the upload. \(failure.message)"
            self.init(body: .none, failure: TransferFailure(failure.code, message, status: end.head?.status))
        case (.failed, _), (.cancelled, _), (.challenged, _):
            return nil
        }
    }
}
