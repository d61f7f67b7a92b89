import Foundation

/// A value that threads change. Threads and tasks can wait for a change without polling.
package final class Watched<Value: Sendable>: @unchecked Sendable {
    // The class is Sendable because `value`, `waiters` and `nextWaiter` are accessed only while `condition` is locked.
    private let condition = NSCondition()
    private var value: Value
    private var waiters: [Int: Waiter] = [:]
    private var nextWaiter = 0

    private struct Waiter {
        let isSatisfied: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    package init(_ value: Value) {
        self.value = value
    }

    package func read<Result>(_ body: (Value) -> Result) -> Result {
        condition.lock()
        defer { condition.unlock() }
        return body(value)
    }

    @discardableResult
    package func update<Result>(_ body: (inout Value) -> Result) -> Result {
        condition.lock()
        let result = body(&value)
        let satisfied = waiters.isEmpty ? [:] : waiters.filter { $0.value.isSatisfied(value) }
        for id in satisfied.keys { waiters[id] = nil }
        condition.broadcast()
        condition.unlock()
        for waiter in satisfied.values { waiter.continuation.resume() }
        return result
    }

    /// Blocks this thread until the condition holds. Returns false if `deadline` came first.
    package func block(until deadline: ContinuousClock.Instant, _ isSatisfied: (Value) -> Bool) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while !isSatisfied(value) {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return false }
            let seconds = Double(left.components.seconds) + Double(left.components.attoseconds) / 1e18
            _ = condition.wait(until: Date(timeIntervalSinceNow: seconds))
        }
        return true
    }

    /// Blocks this thread until the condition holds. Returns false if the ``WaitingTime`` was over first.
    package func block(within bound: Duration = .seconds(20), _ isSatisfied: (Value) -> Bool) -> Bool {
        let time = WaitingTime(within: bound)
        while !block(until: .now + min(bound, .seconds(1)), isSatisfied) {
            if time.isOver { return read(isSatisfied) }
        }
        return true
    }

    /// Suspends until the condition holds. Throws ``WaitedTooLong`` when the ``WaitingTime`` is over.
    package func wait(
        within bound: Duration = .seconds(20), for what: String, _ isSatisfied: @escaping @Sendable (Value) -> Bool
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.suspend(until: isSatisfied) }
            group.addTask {
                let time = WaitingTime(within: bound)
                repeat {
                    try await passTime(min(bound, .seconds(1)), because: "The wait is bounded.")
                } while !time.isOver
                // The condition may hold although the waiter has not run yet.
                if self.read(isSatisfied) { return }
                throw WaitedTooLong(what: what, bound: bound)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func suspend(until isSatisfied: @escaping @Sendable (Value) -> Bool) async throws {
        let id = newWaiterID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(Waiter(isSatisfied: isSatisfied, continuation: continuation), as: id)
            }
        } onCancel: {
            remove(id)
        }
    }

    private func newWaiterID() -> Int {
        condition.lock()
        defer { condition.unlock() }
        nextWaiter += 1
        return nextWaiter
    }

    private func add(_ waiter: Waiter, as id: Int) {
        condition.lock()
        let isSatisfied = waiter.isSatisfied(value)
        let isCancelled = Task.isCancelled
        if !isSatisfied && !isCancelled { waiters[id] = waiter }
        condition.unlock()
        if isSatisfied {
            waiter.continuation.resume()
        } else if isCancelled {
            waiter.continuation.resume(throwing: CancellationError())
        }
    }

    private func remove(_ id: Int) {
        condition.lock()
        let waiter = waiters.removeValue(forKey: id)
        condition.unlock()
        waiter?.continuation.resume(throwing: CancellationError())
    }
}

/// A gate that blocks threads until a test opens it.
package final class Gate: Sendable {
    private let isOpen = Watched(false)

    package init() {}

    package func open() {
        isOpen.update { $0 = true }
    }

    package func block(until deadline: ContinuousClock.Instant) -> Bool {
        isOpen.block(until: deadline) { $0 }
    }
}
