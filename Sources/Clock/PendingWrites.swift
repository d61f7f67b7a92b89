/// How many writes of an actor are under way, and who waits for the last of them.
///
/// A value of the actor that owns it, as ``Alarm``. Its owner waits by
/// `while writes.areUnderWay { await withCheckedContinuation { writes.add($0) } }`.
package struct PendingWrites: Sendable {
    private var count = 0
    private var waiters: [CheckedContinuation<Void, Never>] = []

    package init() {}

    package var areUnderWay: Bool { count > 0 }

    package mutating func begin() { count += 1 }

    /// One is on disk, or could not be written. Behind the last one whoever waits goes on.
    package mutating func end() {
        guard count > 0 else { return }
        count -= 1
        guard count == 0 else { return }
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    /// Resumed when none is under way.
    package mutating func add(_ waiter: CheckedContinuation<Void, Never>) { waiters.append(waiter) }
}
