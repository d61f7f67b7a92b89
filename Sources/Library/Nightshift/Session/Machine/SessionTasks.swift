import NightshiftAPI

/// The tasks of a session: their numbers in this process, their ids in the service, and the reports that the service
/// has not received yet.
struct SessionTasks: Sendable {
    private struct Entry: Sendable {
        /// The service's id of the task. Nil while only this process has the task.
        var id: TaskID?
        /// Whether the delegate has been notified of the task's end, or is being notified.
        var hasEnded = false
    }

    private var entries: [Int: Entry] = [:]
    private var numbersOfIDs: [TaskID: Int] = [:]
    /// The numbers of the data tasks. Data tasks exist only in this process and have no id.
    private(set) var dataTasks: Set<Int> = []
    /// The number of the next task. Nil until the service has assigned the first number.
    private var nextNumber: Int64?
    /// The tasks that could not be sent to the service, in the order in which they will be sent.
    private(set) var unsent: [Int] = []
    /// The tasks that the service had before it was asked for its list.
    private var expected: [Int: TaskID] = [:]
    /// The tasks that have ended since the list was requested and may still be in it. Nil while no list is requested.
    private var endedWhileListing: Set<Int>?
    /// The tasks that were missing from the service's last list. Either messages will report their ends, or the service
    /// has lost them.
    private var missing: [Int: TaskID] = [:]

    var isEmpty: Bool { entries.isEmpty && dataTasks.isEmpty }
    var numbers: [Int] { entries.keys.sorted() }

    /// The numbers of the tasks that the service does not have, or does not have in the state that the app wants.
    var numbersToHandOver: [Int] {
        let late = Set(unsent)
        return entries.filter { $0.value.id == nil || late.contains($0.key) }.keys.sorted()
    }

    func number(of id: TaskID) -> Int? { numbersOfIDs[id] }

    func id(of number: Int) -> TaskID? { entries[number]?.id }

    /// Returns the number of a new task.
    ///
    /// - Parameter start: The number to use if the service has not assigned the first number yet.
    mutating func newNumber(orFrom start: Int64) -> Int {
        let next = nextNumber ?? start
        nextNumber = next + 1
        return Int(next)
    }

    // MARK: - Beginnings and ends

    mutating func add(_ number: Int) { entries[number] = Entry() }

    mutating func addDataTask(_ number: Int) { dataTasks.insert(number) }

    /// Records that the service has a task under this id.
    ///
    /// - Returns: Whether the task is new to this process.
    mutating func learn(_ id: TaskID, of number: Int) -> Bool {
        let isNew = entries[number] == nil
        if let old = entries[number]?.id, old != id { numbersOfIDs[old] = nil }
        entries[number, default: Entry()].id = id
        numbersOfIDs[id] = number
        return isNew
    }

    /// Records that the service has accepted a task. The task's end may have been reported before.
    mutating func handedOver(_ number: Int, as id: TaskID) {
        if entries[number] != nil { _ = learn(id, of: number) }
    }

    /// Records that the delegate is about to be notified of a task's end.
    ///
    /// - Returns: False if the delegate has already been notified.
    mutating func end(_ number: Int) -> Bool {
        guard let entry = entries[number], !entry.hasEnded else { return false }
        entries[number]?.hasEnded = true
        return true
    }

    mutating func remove(_ number: Int) {
        unsent.removeAll { $0 == number }
        endedWhileListing?.insert(number)
        if let id = entries.removeValue(forKey: number)?.id { numbersOfIDs[id] = nil }
    }

    mutating func removeDataTask(_ number: Int) { dataTasks.remove(number) }

    // MARK: - The service's list

    /// Prepares for the service's list of tasks.
    mutating func beginListing() {
        expected = entries.compactMapValues(\.id)
        endedWhileListing = []
    }

    /// Records that the service listed a task under this id.
    ///
    /// - Returns: Whether this process has to make an object for the task.
    mutating func learnListed(_ id: TaskID, of number: Int) -> Bool {
        endedWhileListing?.contains(number) != true && learn(id, of: number)
    }

    mutating func endListing(_ ids: Set<TaskID>, nextNumber: Int64) {
        missing = expected.filter { !ids.contains($0.value) }
        (expected, endedWhileListing) = ([:], nil)
        self.nextNumber = max(self.nextNumber ?? 1, nextNumber)
    }

    /// Returns the missing tasks and clears their list. It is called when all messages about earlier ends have arrived.
    ///
    /// - Returns: The tasks that the service does not list and whose end was not reported by a message.
    mutating func takeMissing() -> [Int: TaskID] {
        defer { missing = [:] }
        return missing.filter { entries[$0.key] != nil }
    }

    // MARK: - Unsent tasks

    mutating func postpone(_ number: Int) {
        if !unsent.contains(number) { unsent.append(number) }
    }

    mutating func sent(_ number: Int) { unsent.removeAll { $0 == number } }
}
