/// The count of visitors, and the time at which the program ends without one.
struct Visitors: Sendable {
    /// The time without a visitor after which the program ends.
    let timeout: Duration
    /// The number of requests in progress, including event streams.
    private var present = 0
    private var deadline: Duration

    /// - Parameter now: the time since a moment that the caller chooses, like all times of this type.
    init(timeout: Duration, now: Duration) {
        self.timeout = timeout
        deadline = now + timeout
    }

    mutating func enter() {
        present += 1
    }

    mutating func leave(at now: Duration) {
        present -= 1
        deadline = now + timeout
    }

    enum Look: Hashable, Sendable {
        case over
        /// No visitor: decide again at this time.
        case again(at: Duration)
        /// A visitor is here; decide again when the last one leaves.
        case visited
    }

    func look(at now: Duration) -> Look {
        guard present == 0 else { return .visited }
        return now >= deadline ? .over : .again(at: deadline)
    }
}
