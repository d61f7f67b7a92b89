/// Whose turn it is with what an actor keeps, step by step: of many whose transactions overlap, or of one alone, in the order in
/// which they came.
///
/// A value of the actor that owns it. Its owner begins a step by
/// `if !turns.begin(alone: isAlone) { await withCheckedContinuation { turns.add($0, alone: isAlone) } }`, and waits for all by
/// `while turns.areUnderWay { await withCheckedContinuation { turns.add($0) } }`.
struct StepTurns: Sendable {
    private var count = 0
    private var isAlone = false
    /// Those whose turn has not come, in the order in which they came.
    private var waiting: [(waiter: CheckedContinuation<Void, Never>, isAlone: Bool)] = []
    /// Those who wait until no step is under way.
    private var idle: [CheckedContinuation<Void, Never>] = []

    init() {}

    var areUnderWay: Bool { count > 0 }

    /// Begins a step, unless others come first.
    ///
    /// - Returns: whether it has begun.
    mutating func begin(alone: Bool) -> Bool {
        guard waiting.isEmpty, isFree(alone: alone) else { return false }
        count += 1
        isAlone = alone
        return true
    }

    /// Resumed when its step has begun.
    mutating func add(_ waiter: CheckedContinuation<Void, Never>, alone: Bool) {
        waiting.append((waiter, alone))
    }

    /// Resumed when no step is under way.
    mutating func add(_ waiter: CheckedContinuation<Void, Never>) { idle.append(waiter) }

    /// A step is on disk, or could not be written.
    mutating func end() {
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
