/// The logind lock that keeps the machine from sleeping. It is held while it is wanted and logind is present.
///
/// A pure value: requests to send and descriptors to close are outputs. Closing the last descriptor of a lock releases
/// it.
struct InhibitorLock {
    enum Action: Equatable {
        case ask(why: String, number: Int)
        case close(Int32)
    }

    private(set) var wanted: String?
    /// The reason why a wanted lock is not held.
    private(set) var refusal: BusFailure?
    private var held: (descriptor: Int32, why: String)?
    private var asked: (number: Int, why: String)?
    private var isServed = false
    private var questions = 0

    var isHeld: Bool { held != nil }

    mutating func setReason(_ why: String?) -> [Action] {
        if why != wanted { refusal = nil }
        wanted = why
        return requestIfNeeded()
    }

    /// Handles the arrival or departure of logind. After an arrival the lock is requested again.
    mutating func served(_ isServed: Bool) -> [Action] {
        self.isServed = isServed
        // A lock of an earlier logind process has no effect.
        let closed = release()
        asked = nil
        refusal = nil
        return closed + requestIfNeeded()
    }

    /// Handles the end of a sleep, after which a lock that was refused is requested again. logind does not grant locks
    /// while a sleep is in progress.
    mutating func sleepEnded() -> [Action] {
        // A request in progress is not repeated.
        if asked == nil { refusal = nil }
        return requestIfNeeded()
    }

    mutating func answered(number: Int, _ result: Result<Int32, BusFailure>) -> [Action] {
        guard asked?.number == number, let why = asked?.why else {
            if case .success(let descriptor) = result { return [.close(descriptor)] }
            return []
        }
        asked = nil
        switch result {
        case .success(let descriptor):
            refusal = nil
            let former = release()
            held = (descriptor, why)
            return former + requestIfNeeded()
        case .failure(let failure):
            refusal = failure
            return requestIfNeeded()
        }
    }

    /// Handles an overdue answer. A late answer is still accepted.
    mutating func isOverdue(number: Int) {
        if asked?.number == number { refusal = BusFailure("there was no answer") }
    }

    private mutating func requestIfNeeded() -> [Action] {
        guard let wanted else {
            asked = nil
            return release()
        }
        guard isServed, refusal == nil, held?.why != wanted, asked?.why != wanted else { return [] }
        questions += 1
        asked = (questions, wanted)
        return [.ask(why: wanted, number: questions)]
    }

    private mutating func release() -> [Action] {
        guard let descriptor = held?.descriptor else { return [] }
        held = nil
        return [.close(descriptor)]
    }
}
