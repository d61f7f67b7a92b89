/// The number of visitors, and the time at which the program ends if no visitor comes.
struct Visitors: Sendable {
    /// The time without a visitor after which the program ends.
    let timeout: Duration
    /// The number of requests in progress, including event streams.
    private var present = 0
    private var deadline: Duration

    /// Starts the time without a visitor.
    ///
    /// - Parameter now: the time since an instant that the caller chooses, as for all times of this type.
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
        /// The decision to decide again at this time, because there is no visitor now.
        case again(at: Duration)
        /// A visitor is present. Decide again when the last visitor leaves.
        case visited
    }

    func look(at now: Duration) -> Look {
        guard present == 0 else { return .visited }
        return now >= deadline ? .over : .again(at: deadline)
    }
}
