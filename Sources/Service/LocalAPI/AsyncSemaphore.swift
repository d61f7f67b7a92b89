import Synchronization

/// A counting semaphore for Swift tasks. At most `permits` tasks run at the same time. Other tasks wait in the order of
/// arrival.
final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
        var nextID = 0
    }

    private let state: Mutex<State>

    init(permits: Int) {
        state = Mutex(State(free: permits))
    }

    func withPermit<Result>(_ operation: () async throws -> Result) async throws -> Result {
        try await wait()
        defer { signal() }
        return try await operation()
    }

    private func wait() async throws {
        let id = state.withLock {
            $0.nextID += 1
            return $0.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isFree = state.withLock {
                    guard $0.free == 0 else {
                        $0.free -= 1
                        return true
                    }
                    $0.waiting.append((id, continuation))
                    return false
                }
                if isFree {
                    continuation.resume()
                } else if Task.isCancelled {
                    cancel(id)
                }
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Ends the wait of a cancelled task. Has no effect if the task already has a permit.
    private func cancel(_ id: Int) {
        let waiting = state.withLock { state in
            state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
        }
        waiting?.resume(throwing: CancellationError())
    }

    private func signal() {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume()
    }
}
