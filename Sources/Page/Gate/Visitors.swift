/// Whether somebody still looks at the page, and when the program ends because nobody does.
struct Visitors: Sendable {
    /// How long it waits for the next one.
    let patience: Duration
    /// Requests that are being answered, streams of events among them.
    private var present = 0
    private var deadline: Duration

    /// - Parameter now: since a moment of the caller's choice, as all times here.
    init(patience: Duration, now: Duration) {
        self.patience = patience
        deadline = now + patience
    }

    mutating func enter() {
        present += 1
    }

    mutating func leave(at now: Duration) {
        present -= 1
        deadline = now + patience
    }

    enum Look: Hashable, Sendable {
        case over
        /// Nobody is here: look again then.
        case again(at: Duration)
        /// Somebody is here, whose leaving is the next thing to happen.
        case visited
    }

    func look(at now: Duration) -> Look {
        guard present == 0 else { return .visited }
        return now >= deadline ? .over : .again(at: deadline)
    }
}
