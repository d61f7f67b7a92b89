import Synchronization

/// A queue for calls that block, so that they never block a thread that runs Swift's jobs. While the queue has work, it
/// uses a thread of its own.
package final class WorkQueue: Sendable {
    private struct State: Sendable {
        var work = Fifo<@Sendable () -> Void>()
        var running = 0
    }

    private let state = Mutex(State())
    private let width: Int

    /// - Parameter width: the number of calls that may run at the same time. With the default of 1, the calls run one
    ///   after the other, in the order in which they were added.
    package init(width: Int = 1) {
        self.width = width
    }

    /// Whether nothing runs and nothing waits.
    package var isIdle: Bool { state.withLock { $0.running == 0 } }

    /// Makes all queues use the threads of libdispatch from now on, because a test can count their work.
    package static func useDispatch() {
        WorkerThreads.shared.useDispatch()
    }

    /// Adds work, and returns immediately.
    package func add(_ body: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            state.work.append(body)
            guard state.running < width else { return false }
            state.running += 1
            return true
        }
        if starts { WorkerThreads.shared.run { self.drain() } }
    }

    /// Adds work after a pause. Without a pause, the work is added immediately.
    package func add(after pause: Duration, _ body: @escaping @Sendable () -> Void) {
        guard pause > .zero else { return add(body) }
        EventThread.shared.add(after: pause) { self.add(body) }
    }

    /// Runs work that belongs to no queue, after a pause.
    package static func start(after pause: Duration = .zero, _ body: @escaping @Sendable () -> Void) {
        WorkQueue().add(after: pause, body)
    }

    /// Adds work, and returns its result.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            add { continuation.resume(returning: body()) }
        }
    }

    private func drain() {
        while let body = next() { body() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let body = state.work.popFirst()
            if body == nil { state.running -= 1 }
            return body
        }
    }
}
