import CSystemd
import Glibc
import NightshiftAPI
import Synchronization

/// A channel that passes the foreground application from the listening thread to other threads.
final class FocusChannel: Sendable {
    private struct State {
        var report = FocusReport.nobody("not checked yet")
        var hasBegun = false
        var isEnded = false
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<FrontApplication?>.Continuation
    /// An eventfd(2) that becomes readable when listening is to end. It stays open for the whole lifetime of this
    /// object, so that no other file gets its number.
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

    /// Records that listening begins. Returns false if it had already begun or has ended.
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

    /// Publishes a report. `isNews` means that the reader of the stream is notified. The listening thread calls this.
    func publish(_ report: FocusReport, isNews: Bool) {
        state.withLock { $0.report = report }
        if isNews { continuation.yield(report.application) }
    }
}
