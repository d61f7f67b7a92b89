import Dispatch
import NightshiftClient
import Synchronization

/// A queue for a possibly slow operation that only one thread at a time may run. The threads run the operation in the
/// order of arrival. Each thread sets its own timeout.
///
/// A lock is not used, for two reasons: locks have no reliable deadline, and the thread that released a lock can
/// acquire the lock again before the other threads.
final class Turn: Sendable {
    private let state = Mutex(State())

    private struct State {
        var isTaken = false
        /// The waiting threads in the order of arrival.
        var waiters: [DispatchSemaphore] = []
    }

    /// Waits for the turn, and then runs `body`. This method blocks the thread.
    ///
    /// - Parameters:
    ///   - timeout: The timeout for getting the turn and running `body`. `body` gets the remaining time.
    /// - Throws: ``ServiceUnreachable`` if the turn is not free in time, because other threads wait for the service.
    func run<Result>(within timeout: Duration, _ body: (_ left: Duration) throws -> Result) throws -> Result {
        let deadline = ContinuousClock.now + timeout
        guard take(within: timeout) else {
            throw ServiceUnreachable(message: "The service has not responded to an earlier request yet.")
        }
        defer { giveBack() }
        return try body(max(.zero, deadline - .now))
    }

    private func take(within timeout: Duration) -> Bool {
        let waiter = DispatchSemaphore(value: 0)
        let isFree = state.withLock { state in
            if state.isTaken && timeout > .zero { state.waiters.append(waiter) }
            defer { state.isTaken = true }
            return !state.isTaken
        }
        if isFree { return true }
        guard timeout > .zero else { return false }
        if waiter.wait(within: timeout) { return true }
        return state.withLock { state in
            // The turn may have been passed to this thread just after the timeout.
            guard let place = state.waiters.firstIndex(where: { $0 === waiter }) else { return true }
            state.waiters.remove(at: place)
            return false
        }
    }

    private func giveBack() {
        let next = state.withLock { state -> DispatchSemaphore? in
            guard !state.waiters.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiters.removeFirst()
        }
        next?.signal()
    }
}
