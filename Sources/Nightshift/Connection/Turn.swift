import Dispatch
import NightshiftClient
import Synchronization

/// Lets one thread at a time do what may take long, in the order in which they came; whoever waits says for how long.
///
/// Not a lock: those know no deadline that can be relied on, and may be taken again and again by the thread that has just given
/// it back.
final class Turn: Sendable {
    private let state = Mutex(State())

    private struct State {
        var isTaken = false
        /// Threads that wait, the first to come first.
        var waiters: [DispatchSemaphore] = []
    }

    /// Runs `body` when nobody else has the turn. Blocks.
    ///
    /// - Parameters:
    ///   - patience: for the turn and for `body`, which is told what is left of it.
    /// - Throws: ``ServiceUnreachable`` where others have it for longer: they are waiting for the service.
    func run<Result>(within patience: Duration, _ body: (_ left: Duration) throws -> Result) throws -> Result {
        let deadline = ContinuousClock.now + patience
        guard take(within: patience) else {
            throw ServiceUnreachable(message: "The service has not answered another request about it yet.")
        }
        defer { giveBack() }
        return try body(max(.zero, deadline - .now))
    }

    private func take(within patience: Duration) -> Bool {
        let waiter = DispatchSemaphore(value: 0)
        let isFree = state.withLock { state in
            if state.isTaken && patience > .zero { state.waiters.append(waiter) }
            defer { state.isTaken = true }
            return !state.isTaken
        }
        if isFree { return true }
        guard patience > .zero else { return false }
        if waiter.wait(within: patience) { return true }
        return state.withLock { state in
            // It may have been handed over in this very moment.
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
