package import NightshiftAPI
import Store

/// The body of the last response to an upload.
package enum AnswerBody: Hashable, Sendable {
    case memory([UInt8])
    /// A body that is too long for memory. It is in the exchange's file and has this number of bytes.
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
    /// The reason why the body is missing. The server already has the upload. Sending the upload again would not help,
    /// and could perform the operation twice.
    package var failure: TransferFailure?

    package init(body: AnswerBody, failure: TransferFailure? = nil) {
        self.body = body
        self.failure = failure
    }

    /// Creates the stored response of an exchange. Returns nil if the response was not complete, unless the cause is
    /// this machine's disk.
    ///
    /// - Parameter file: the number of bytes in the response's file; nil if the response did not need a file.
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

/// The facts about an upload request that has ended.
struct UploadEnd: Sendable {
    var exchange: ExchangeEnd
    /// The meaning of the response; nil for an ordinary failure.
    var verdict: UploadVerdict?
    var answer: UploadAnswer?
    /// The change of a file while it was sent.
    var change: TransferFailure?
    /// The upload as the server stores it.
    var resource: UploadResource?
    /// The number of bytes of the whole body that were handed to the connection.
    var handedOver: Int64
    /// Whether the request asked the server for its offset.
    var isQuery: Bool
}
