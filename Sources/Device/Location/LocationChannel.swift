import CSystemd
import Glibc
import NightshiftAPI
import Synchronization

/// A channel that passes requests to the thread that asks the location sources, and passes that thread's updates on.
final class LocationChannel: Sendable {
    /// The requests to the listening thread.
    struct Orders {
        var wish = FixDemand()
        /// The number of demands so far. A new demand makes the thread repeat its requests to the sources.
        var wishes = 0
        /// The number of requests so far for a check of the sources.
        var looks = 0
        var place: LocationSetting?
        var isEnded = false
    }

    private struct State {
        var requests = Orders()
        var hasBegun = false
        /// Callers waiting for the result of a check of the sources.
        var waiting: [CheckedContinuation<FixUpdate?, Never>] = []
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<FixUpdate>.Continuation
    /// An eventfd(2) that is readable when there are requests. It stays open for the whole lifetime of this object, so
    /// that no other file gets its number.
    let descriptor: Int32

    init(continuation: AsyncStream<FixUpdate>.Continuation) {
        self.continuation = continuation
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    }

    deinit {
        close(descriptor)
    }

    /// Records that listening begins. Returns false if it had already begun or has ended.
    func begin() -> Bool {
        state.withLock { state in
            let isFirst = !state.hasBegun && !state.requests.isEnded
            state.hasBegun = true
            return isFirst
        }
    }

    func want(_ wish: FixDemand) {
        order {
            $0.wish = wish
            $0.wishes += 1
        }
    }

    func setPlace(_ word: LocationSetting?) {
        order { $0.place = word }
    }

    /// Requests a check of the sources. `waiter` receives the result, or nil after ``end()``.
    func look(_ waiter: CheckedContinuation<FixUpdate?, Never>) {
        let isEnded = state.withLock { state in
            if !state.requests.isEnded { state.waiting.append(waiter) }
            return state.requests.isEnded
        }
        guard !isEnded else { return waiter.resume(returning: nil) }
        order { $0.looks += 1 }
    }

    func end() {
        order { $0.isEnded = true }
        continuation.finish()
        looked(nil)
    }

    /// Returns the current requests, and resets the readiness of ``descriptor``. The listening thread calls this.
    func takeOrders() -> Orders {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        return state.withLock { $0.requests }
    }

    /// Publishes an update. The listening thread calls this.
    func tell(_ update: FixUpdate) {
        continuation.yield(update)
    }

    /// Passes the result of a check to the waiting callers. The listening thread calls this.
    func looked(_ update: FixUpdate?) {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume(returning: update) }
    }

    private func order(_ change: (inout Orders) -> Void) {
        state.withLock { change(&$0.requests) }
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }
}
