import Synchronization

/// A signal that wakes the readers of a table when the table has grown. It contains no rows; readers read the rows from
/// the store.
package final class GrowthSignal: Sendable {
    private struct State {
        var last: Int64
        var wakes = 0
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state: Mutex<State>

    init(last: Int64) {
        state = Mutex(State(last: last))
    }

    /// The id of the last row on disk.
    package var last: Int64 { state.withLock { $0.last } }

    func advance(to last: Int64) {
        let woken = state.withLock { state in
            guard last > state.last else { return [CheckedContinuation<Void, Never>]() }
            state.last = last
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in woken { waiter.resume() }
    }

    /// The number of times that all readers were woken although the table had not grown.
    package var wakes: Int { state.withLock { $0.wakes } }

    /// Wakes all readers although the table has not grown, because there is progress to read.
    package func wakeWaiters() {
        let woken = state.withLock { state in
            state.wakes += 1
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in woken { waiter.resume() }
    }

    /// Returns once a row after `id` exists, at the next ``wakeWaiters()``, or when the task is cancelled.
    ///
    /// - Parameter wakes: The value of ``wakes`` before the caller read the table. The function returns at once if all
    ///   readers were woken since then.
    package func wait(past id: Int64, since wakes: Int? = nil) async {
        let ticket = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    // If the cancellation came first, its handler found no continuation to resume.
                    guard state.last <= id, wakes ?? state.wakes == state.wakes, !Task.isCancelled else { return true }
                    state.waiters[ticket] = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: ticket) }?.resume()
        }
    }
}
