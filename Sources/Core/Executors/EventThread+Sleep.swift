import Synchronization

extension EventThread {
    /// Suspends the task for `delay`. In contrast to `Task.sleep`, a cancelled call leaves no timer.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    package func wait(for delay: Duration) async throws {
        let sleep = Sleep()
        await withTaskCancellationHandler {
            await withCheckedContinuation { sleep.begin($0, for: delay, on: self) }
        } onCancel: {
            sleep.end(on: self)
        }
        try Task.checkCancellation()
    }
}

/// One sleep of a task. It ends once, by its timer or by a cancellation.
private final class Sleep: Sendable {
    private enum State {
        case new
        case sleeping(CheckedContinuation<Void, Never>, EventThread.Timer)
        case ended
    }

    private let state = Mutex(State.new)

    func begin(_ continuation: CheckedContinuation<Void, Never>, for delay: Duration, on timers: EventThread) {
        let hasEnded = state.withLock { state in
            guard case .new = state else { return true }
            // The timer may fire before this returns. It then waits for the lock.
            state = .sleeping(continuation, timers.add(after: delay) { self.end(on: timers) })
            return false
        }
        if hasEnded { continuation.resume() }
    }

    func end(on timers: EventThread) {
        let before = state.withLock { state in
            defer { state = .ended }
            return state
        }
        guard case .sleeping(let continuation, let timer) = before else { return }
        timers.cancel(timer)
        continuation.resume()
    }
}
