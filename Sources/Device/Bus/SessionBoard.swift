import CSystemd
import Glibc
import Synchronization

/// Where the thread that listens to the session's bus and everybody else meet.
final class SessionBoard<Request: Sendable, Event: Sendable>: Sendable {
    private struct State {
        var requests: [Request] = []
        var hasBegun = false
        var isEnded = false
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<Event>.Continuation
    /// An eventfd(2), readable when there is something to do; closed with this object, so that nobody uses the number
    /// of another file.
    let descriptor: Int32

    init(continuation: AsyncStream<Event>.Continuation) {
        self.continuation = continuation
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    }

    deinit {
        close(descriptor)
    }

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
        wake()
    }

    func ask(_ request: Request) {
        state.withLock { state in
            if !state.isEnded { state.requests.append(request) }
        }
        wake()
    }

    /// For the thread that listens: what it is to do now, and whether that is all there will be. Takes the readiness of
    /// ``descriptor`` away.
    func takeRequests() -> (requests: [Request], isEnded: Bool) {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        return state.withLock { state in
            defer { state.requests = [] }
            return (state.requests, state.isEnded)
        }
    }

    func tell(_ event: Event) {
        continuation.yield(event)
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }
}
