import NightshiftAPI

/// The tasks of a session: their numbers in this process, their ids in the service, and what the service has yet to hear of them.
struct SessionTasks: Sendable {
    private struct Entry: Sendable {
        /// The service's id; nil while only this process knows of the task.
        var id: TaskID?
        /// Whether the delegate has heard of its end, or is hearing of it.
        var hasEnded = false
    }

    private var entries: [Int: Entry] = [:]
    private var numbersOfIDs: [TaskID: Int] = [:]
    /// Data tasks, which are this process's own. They have no id.
    private(set) var dataTasks: Set<Int> = []
    /// The number of the next task; nil while the service has not said it.
    private var nextNumber: Int64?
    /// Tasks that the service could not be given, in the order in which it gets them.
    private(set) var unsent: [Int] = []
    /// Tasks that the service had before it was asked which it has.
    private var expected: [Int: TaskID] = [:]
    /// Tasks that have ended since then, which its list may still name; nil where it is not being asked.
    private var endedWhileListing: Set<Int>?
    /// Tasks missing from the service's last list: messages report their ends, or it has forgotten them.
    private var missing: [Int: TaskID] = [:]

    var isEmpty: Bool { entries.isEmpty && dataTasks.isEmpty }
    var numbers: [Int] { entries.keys.sorted() }

    /// Tasks that the service does not have as the app wants them.
    var numbersToHandOver: [Int] {
        let late = Set(unsent)
        return entries.filter { $0.value.id == nil || late.contains($0.key) }.keys.sorted()
    }

    func number(of id: TaskID) -> Int? { numbersOfIDs[id] }

    func id(of number: Int) -> TaskID? { entries[number]?.id }

    /// The number of a new task.
    ///
    /// - Parameter start: where numbers begin while the service has not said it.
    mutating func newNumber(orFrom start: Int64) -> Int {
        let next = nextNumber ?? start
        nextNumber = next + 1
        return Int(next)
    }

    // MARK: - Beginnings and ends

    mutating func add(_ number: Int) { entries[number] = Entry() }

    mutating func addDataTask(_ number: Int) { dataTasks.insert(number) }

    /// The service has a task under this id.
    ///
    /// - Returns: whether this process did not have it.
    mutating func learn(_ id: TaskID, of number: Int) -> Bool {
        let isNew = entries[number] == nil
        if let old = entries[number]?.id, old != id { numbersOfIDs[old] = nil }
        entries[number, default: Entry()].id = id
        numbersOfIDs[id] = number
        return isNew
    }

    /// The service has taken a task over. Its end may have come before this.
    mutating func handedOver(_ number: Int, as id: TaskID) {
        if entries[number] != nil { _ = learn(id, of: number) }
    }

    /// The delegate is about to hear of the end of a task.
    ///
    /// - Returns: false where it has heard of it.
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

    // MARK: - What the service lists

    /// The service is asked what it has.
    mutating func beginListing() {
        expected = entries.compactMapValues(\.id)
        endedWhileListing = []
    }

    /// The service lists a task under this id.
    ///
    /// - Returns: whether this process has to make it.
    mutating func learnListed(_ id: TaskID, of number: Int) -> Bool {
        endedWhileListing?.contains(number) != true && learn(id, of: number)
    }

    mutating func endListing(_ ids: Set<TaskID>, nextNumber: Int64) {
        missing = expected.filter { !ids.contains($0.value) }
        (expected, endedWhileListing) = ([:], nil)
        self.nextNumber = max(self.nextNumber ?? 1, nextNumber)
    }

    /// Every message about ends of the past has come.
    ///
    /// - Returns: tasks that the service does not list and whose end no message has reported.
    mutating func takeMissing() -> [Int: TaskID] {
        defer { missing = [:] }
        return missing.filter { entries[$0.key] != nil }
    }

    // MARK: - Tasks that the service could not be given

    mutating func postpone(_ number: Int) {
        if !unsent.contains(number) { unsent.append(number) }
    }

    mutating func sent(_ number: Int) { unsent.removeAll { $0 == number } }
}
