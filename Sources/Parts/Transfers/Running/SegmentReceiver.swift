import NightshiftAPI
import Synchronization

/// The receiver of one of several connections of a download, called on the transport's thread. The receiver judges the
/// head of the response and decides where the part is written.
///
/// All inputs of its decisions are fixed when the exchange begins, except ``end``, which the scheduler moves.
final class SegmentReceiver: ExchangeReceiver {
    struct Inputs: Sendable {
        var request: SegmentRequest
        /// The file, as the response from the task's own URL described it.
        var file: SourceIdentity
        var policy: ResponsePolicy
        /// The file that all connections write into.
        var descriptor: Int32
        /// The offset up to which connections may write, shared by all connections. The value is 0 until the task's row
        /// in the store says that bytes may follow gaps.
        var ceiling: ByteMeter
        /// The start of the exchange in seconds since 1970.
        var wallSeconds: Double
    }

    /// The receiver's decision about the head of a response.
    struct Reception: Sendable {
        var answer: SegmentAnswer
        var head: ResponseHead
    }

    let position: ByteMeter
    let end: ByteMeter
    private let inputs: Inputs
    private let report: @Sendable (SegmentReceiver, ReceiverReport) -> Void
    private let state = Mutex<Reception?>(nil)

    init(_ inputs: Inputs, report: @escaping @Sendable (SegmentReceiver, ReceiverReport) -> Void) {
        self.inputs = inputs
        self.report = report
        position = ByteMeter(inputs.request.range.lowerBound)
        end = ByteMeter(inputs.request.range.upperBound)
    }

    var reception: Reception? { state.withLock { $0 } }

    func exchange(received head: ResponseHead) -> BodyDisposition {
        let answer = inputs.request.judge(
            head: head, file: inputs.file, policy: inputs.policy, now: inputs.wallSeconds)
        state.withLock { $0 = Reception(answer: answer, head: head) }
        guard case .serves(let served, _) = answer else {
            return (head.contentLength ?? .max) <= DownloadReceiver.discardedLength ? .discard : .stop
        }
        position.value = served.lowerBound
        report(self, .accepted)
        return .file(
            FileSink(
                descriptor: inputs.descriptor, offset: served.lowerBound, length: Int64(served.count),
                position: position, ceiling: inputs.ceiling, end: end))
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        report(self, .ended(end))
    }
}
