/// The number of an actor's pending writes, and the callers that wait until all of them have ended.
///
/// Like ``Alarm``, this is a value of the actor that owns it. The owner waits with `while writes.areUnderWay { await
/// withCheckedContinuation { writes.add($0) } }`.
package struct PendingWrites: Sendable {
    private var count = 0
    private var waiters: [CheckedContinuation<Void, Never>] = []

    package init() {}

    package var areUnderWay: Bool { count > 0 }

    package mutating func begin() { count += 1 }

    /// Ends a write that is on disk or has failed. When no write is pending, all waiting callers are resumed.
    package mutating func end() {
        guard count > 0 else { return }
        count -= 1
        guard count == 0 else { return }
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    /// Adds a caller that is resumed when no write is pending.
    package mutating func add(_ waiter: CheckedContinuation<Void, Never>) { waiters.append(waiter) }
}
