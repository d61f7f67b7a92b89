/// The lock by which logind keeps the machine from sleeping: held exactly as long as somebody wants it and logind is there.
///
/// Pure: it says what to ask and which descriptors to close. Closing a lock's last descriptor releases it.
struct InhibitorLock {
    enum Action: Equatable {
        case ask(why: String, number: Int)
        case close(Int32)
    }

    private(set) var wanted: String?
    /// Why it is not had although it is wanted.
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

    /// logind has come (perhaps another one than before), or gone.
    mutating func served(_ isServed: Bool) -> [Action] {
        self.isServed = isServed
        // A lock of a logind that is gone holds nothing.
        let closed = release()
        asked = nil
        refusal = nil
        return closed + requestIfNeeded()
    }

    /// A sleep has ended: what logind refused before it may grant now, since it gives no lock against what is under way.
    mutating func sleepEnded() -> [Action] {
        // A question that has no answer yet is not asked twice.
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

    /// An answer is overdue; it counts when it comes nevertheless.
    mutating func isOverdue(number: Int) {
        if asked?.number == number { refusal = BusFailure("does not answer") }
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
