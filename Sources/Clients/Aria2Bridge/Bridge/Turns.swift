/// A lock that lets one asynchronous operation run at a time, in the order of their arrival.
///
/// Calls of clients take turns, as in aria2, which has one thread. Each call therefore sees the whole effect of the call
/// before it.
struct Turns: Sendable {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Takes the turn. Returns false if another operation has it.
    mutating func take() -> Bool {
        defer { isTaken = true }
        return !isTaken
    }

    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) {
        waiting.append(continuation)
    }

    /// Ends the turn, and gives it to the next operation.
    mutating func end() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}
