import NightshiftAPI
import Synchronization

/// One request of an upload as the transport's thread sees it: tells the machine of interim responses, and keeps the final
/// response's body.
final class UploadReceiver: ExchangeReceiver {
    /// Bytes of the request's content that were handed on.
    let sent = ByteMeter()
    let request: UploadRequest
    /// The final response's body, where it is too long for memory.
    let answer: AnswerFile
    private let wallSeconds: Double
    private let report: @Sendable (UploadReceiver, ReceiverReport) -> Void
    private let state: Mutex<State>

    private struct State {
        var upload: ResumableUpload
        var informational: ResponseHead?
    }

    /// - Parameter upload: the machine with the request under way.
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

    /// The last interim response, but for `100 Continue`, which is between the connections.
    var informationalResponse: ResponseHead? { state.withLock { $0.informational } }

    /// Bytes of the whole body that have arrived, as far as can be told.
    var progress: Int64 { state.withLock { $0.upload.progress(handedOver: sent.value) } }

    /// Whether all content was handed on: nothing moves until the server has answered.
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
