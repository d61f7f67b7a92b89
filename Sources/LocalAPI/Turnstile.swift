import Synchronization

/// Lets a few through at a time; the others wait in the order they came.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
        var nextID = 0
    }

    private let state: Mutex<State>

    init(_ places: Int) {
        state = Mutex(State(free: places))
    }

    func withPlace<Result>(_ operation: () async throws -> Result) async throws -> Result {
        try await enter()
        defer { leave() }
        return try await operation()
    }

    private func enter() async throws {
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

    /// Ends the wait of a task that was cancelled; without effect once it has its place.
    private func cancel(_ id: Int) {
        let waiting = state.withLock { state in
            state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
        }
        waiting?.resume(throwing: CancellationError())
    }

    private func leave() {
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
