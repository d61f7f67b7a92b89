import NightshiftAPI
import Synchronization

/// The receiver of one upload request, called on the transport's thread. It passes interim responses to the state
/// machine, and stores the body of the final response.
final class UploadReceiver: ExchangeReceiver {
    /// The number of bytes of the request's content that were handed to the connection.
    let sent = ByteMeter()
    let request: UploadRequest
    /// The file for the final response's body, if the body is too long for memory.
    let answer: AnswerFile
    private let wallSeconds: Double
    private let report: @Sendable (UploadReceiver, ReceiverReport) -> Void
    private let state: Mutex<State>

    private struct State {
        var upload: ResumableUpload
        var informational: ResponseHead?
    }

    /// Creates the receiver for the upload's current request.
    ///
    /// - Parameter upload: the state machine, with the request in progress.
    init(
        _ upload: ResumableUpload, _ request: UploadRequest, answer: AnswerFile, wallSeconds: Double,
        report: @escaping @Sendable (UploadReceiver, ReceiverReport) -> Void
    ) {
        state = Mutex(State(upload: upload))
        self.request = request
        self.answer = answer
        self.wallSeconds = wallSeconds
        self.report = report
    }

    var upload: ResumableUpload { state.withLock { $0.upload } }

    /// The last interim response. This is never `100 Continue`, which concerns only the connection.
    var informationalResponse: ResponseHead? { state.withLock { $0.informational } }

    /// The number of bytes of the whole body that are known to have been sent.
    var progress: Int64 { state.withLock { $0.upload.progress(handedOver: sent.value) } }

    /// Whether all content was sent. No byte moves until the server has answered.
    var awaitsResponse: Bool { sent.value >= request.count }

    func exchange(receivedInterim head: ResponseHead) -> InterimDisposition {
        let verdict = state.withLock { state in
            if head.status != 100 { state.informational = head }
            return state.upload.interim(head, now: wallSeconds)
        }
        switch verdict {
        case .ignored, .acknowledged: return .proceed
        case .resumable:
            report(self, .accepted)
            return .proceed
        case .stop: return .stop
        }
    }

    func exchange(received head: ResponseHead) -> BodyDisposition {
        .memory(limit: Limits.responseMemory) { [answer] in answer.open() }
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        report(self, .ended(end))
    }
}
