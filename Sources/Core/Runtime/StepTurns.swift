/// The order of steps on an actor's state. A step either runs alone or may overlap with others while its transaction is
/// written. Steps begin in the order of arrival.
///
/// This is a value of the actor that owns it. The owner begins a step with `if !turns.begin(alone: isAlone) { await
/// withCheckedContinuation { turns.add($0, alone: isAlone) } }`.
struct StepTurns: Sendable {
    private var count = 0
    private var isAlone = false
    /// The steps that have not begun, in the order of arrival.
    private var waiting: [(waiter: CheckedContinuation<Void, Never>, isAlone: Bool)] = []

    init() {}

    var areUnderWay: Bool { count > 0 }

    /// Begins a step, unless it must wait for other steps.
    ///
    /// - Returns: whether the step has begun.
    mutating func begin(alone: Bool) -> Bool {
        guard waiting.isEmpty, isFree(alone: alone) else { return false }
        count += 1
        isAlone = alone
        return true
    }

    /// Adds a caller that is resumed when its step has begun.
    mutating func add(_ waiter: CheckedContinuation<Void, Never>, alone: Bool) {
        waiting.append((waiter, alone))
    }

    /// Ends a step whose changes are on disk or could not be written.
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
    }

    private func isFree(alone: Bool) -> Bool { count == 0 || !alone && !isAlone }
}
