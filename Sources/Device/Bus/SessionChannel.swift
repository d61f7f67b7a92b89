import CSystemd
import Glibc
import Synchronization

/// A channel that passes requests to the thread that listens to the session bus, and passes that thread's events on.
final class SessionChannel<Request: Sendable, Event: Sendable>: Sendable {
    private struct State {
        var requests: [Request] = []
        var hasBegun = false
        var isEnded = false
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<Event>.Continuation
    /// An eventfd(2) that is readable when there are requests. It stays open for the whole lifetime of this object, so
    /// that no other file gets its number.
    let descriptor: Int32

    init(continuation: AsyncStream<Event>.Continuation) {
        self.continuation = continuation
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    }

    deinit {
        close(descriptor)
    }

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
        wake()
    }

    func ask(_ request: Request) {
        state.withLock { state in
            if !state.isEnded { state.requests.append(request) }
        }
        wake()
    }

    /// Returns the pending requests and clears the list, and returns whether no more requests will follow. Resets the
    /// readiness of ``descriptor``.
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
