import CSystemd
import Glibc
import NightshiftAPI
import Synchronization

/// Where the thread that asks the sources of places and everybody else meet.
final class LocationBoard: Sendable {
    /// The orders for the thread that listens.
    struct Orders {
        var wish = FixWish()
        /// How often something was wanted: each time asks again.
        var wishes = 0
        /// How often somebody has asked what sources there are.
        var looks = 0
        var place: PlaceWord?
        var isEnded = false
    }

    private struct State {
        var orders = Orders()
        var hasBegun = false
        /// Those who wait for the sources to be looked at.
        var waiting: [CheckedContinuation<FixUpdate?, Never>] = []
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<FixUpdate>.Continuation
    /// An eventfd(2), readable when there are orders; closed with this object, so that nobody uses the number of another file.
    let descriptor: Int32

    init(continuation: AsyncStream<FixUpdate>.Continuation) {
        self.continuation = continuation
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    }

    deinit {
        close(descriptor)
    }

    /// False when it has begun before, or ended.
    func begin() -> Bool {
        state.withLock { state in
            let isFirst = !state.hasBegun && !state.orders.isEnded
            state.hasBegun = true
            return isFirst
        }
    }

    func want(_ wish: FixWish) {
        order {
            $0.wish = wish
            $0.wishes += 1
        }
    }

    func setPlace(_ word: PlaceWord?) {
        order { $0.place = word }
    }

    /// Has the sources looked at; `waiter` is given what there is, or nil behind ``end()``.
    func look(_ waiter: CheckedContinuation<FixUpdate?, Never>) {
        let isEnded = state.withLock { state in
            if !state.orders.isEnded { state.waiting.append(waiter) }
            return state.orders.isEnded
        }
        guard !isEnded else { return waiter.resume(returning: nil) }
        order { $0.looks += 1 }
    }

    func end() {
        order { $0.isEnded = true }
        continuation.finish()
        looked(nil)
    }

    /// For the thread that listens. Takes the readiness of ``descriptor`` away.
    func takeOrders() -> Orders {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        return state.withLock { $0.orders }
    }

    /// For the thread that listens.
    func tell(_ update: FixUpdate) {
        continuation.yield(update)
    }

    /// For the thread that listens: the sources were looked at.
    func looked(_ update: FixUpdate?) {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume(returning: update) }
    }

    private func order(_ change: (inout Orders) -> Void) {
        state.withLock { change(&$0.orders) }
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }
}
