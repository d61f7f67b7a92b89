import CSystemd
import Glibc
import NightshiftAPI
import Synchronization

/// Where the thread that listens for what is in front and everybody else meet.
final class FocusBoard: Sendable {
    private struct State {
        var report = FocusReport.nobody("not asked yet")
        var hasBegun = false
        var isEnded = false
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<FrontApplication?>.Continuation
    /// An eventfd(2), readable at the end; closed with this object, so that nobody uses the number of another file.
    let descriptor: Int32

    init(continuation: AsyncStream<FrontApplication?>.Continuation) {
        self.continuation = continuation
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    }

    deinit {
        close(descriptor)
    }

    var report: FocusReport { state.withLock { $0.report } }

    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// False when it has begun before, or ended.
    func begin() -> Bool {
        state.withLock { state in
            let isFirst = !state.hasBegun && !state.isEnded
            state.hasBegun = true
            return isFirst
        }
    }

    func end() {
        state.withLock { $0.isEnded = true }
        continuation.finish()
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    /// For the thread that listens. With `isNews` the reader of the stream is to know.
    func publish(_ report: FocusReport, isNews: Bool) {
        state.withLock { $0.report = report }
        if isNews { continuation.yield(report.application) }
    }
}
