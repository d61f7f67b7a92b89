/// The numbers of callers or work that wait for a machine. The executor of the machine keeps their closures.
struct Waiters<Event: Sendable>: Sendable {
    private var events: [Int: Event] = [:]
    private var lastNumber = 0

    /// - Returns: The number of the new waiter.
    mutating func add(_ event: Event) -> Int {
        lastNumber += 1
        events[lastNumber] = event
        return lastNumber
    }

    mutating func remove(_ number: Int) { events[number] = nil }

    /// Removes the waiters for certain events and returns their numbers, oldest first.
    mutating func take(_ isMeant: (Event) -> Bool) -> [Int] {
        let numbers = events.filter { isMeant($0.value) }.keys.sorted()
        for number in numbers { events[number] = nil }
        return numbers
    }
}
