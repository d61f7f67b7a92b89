/// Whose turn it is with what an actor keeps, step by step: of many whose transactions overlap, or of one alone.
///
/// What the world tells changes it at once, and what could not be written is written with a later step. What somebody asks for is
/// decided alone, on a copy, which takes its place once it is on disk: where it cannot be written, nothing has changed.
///
/// A value of the actor that owns it, as ``Alarm``. Its owner begins a step by
/// `if !turns.begin(alone: isAlone) { await withCheckedContinuation { turns.add($0, alone: isAlone) } }`, and waits for all by
/// `while turns.areUnderWay { await withCheckedContinuation { turns.add($0) } }`.
package struct StepTurns: Sendable {
    private var count = 0
    private var isAlone = false
    /// Those whose turn has not come, in the order in which they came.
    private var waiting: [(waiter: CheckedContinuation<Void, Never>, isAlone: Bool)] = []
    /// Those who wait until no step is under way.
    private var idle: [CheckedContinuation<Void, Never>] = []

    package init() {}

    package var areUnderWay: Bool { count > 0 }

    /// Begins a step, unless others come first.
    ///
    /// - Returns: whether it has begun.
    package mutating func begin(alone: Bool) -> Bool {
        guard waiting.isEmpty, isFree(alone: alone) else { return false }
        count += 1
        isAlone = alone
        return true
    }

    /// Resumed when its step has begun.
    package mutating func add(_ waiter: CheckedContinuation<Void, Never>, alone: Bool) {
        waiting.append((waiter, alone))
    }

    /// Resumed when no step is under way.
    package mutating func add(_ waiter: CheckedContinuation<Void, Never>) { idle.append(waiter) }

    /// A step is on disk, or could not be written.
    package mutating func end() {
        guard count > 0 else { return }
        count -= 1
        if count == 0 { isAlone = false }
        while let next = waiting.first, isFree(alone: next.isAlone) {
            waiting.removeFirst()
            count += 1
            isAlone = next.isAlone
            next.waiter.resume()
        }
        guard count == 0 else { return }
        for waiter in idle { waiter.resume() }
        idle = []
    }

    private func isFree(alone: Bool) -> Bool { count == 0 || !alone && !isAlone }
}
