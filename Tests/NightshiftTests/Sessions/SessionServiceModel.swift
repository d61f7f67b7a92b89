import NightshiftAPI

/// A model of the service, as one session sees it: tasks, and messages until they are acknowledged.
struct SessionServiceModel {
    struct Listed: Equatable {
        var id: TaskID
        var number: Int
    }

    struct Message: Equatable {
        var id: Int64
        var task: TaskID
        var number: Int
        var isQuestion: Bool
    }

    enum Sent: Equatable {
        case message(Message)
        case caughtUp(Int64)
    }

    var isReachable = true
    /// Whether the service refuses the session, because another process has it.
    var refuses = false
    private(set) var tasks: [TaskID: Int] = [:]
    private(set) var messages: [Message] = []
    private(set) var nextNumber: Int64 = 1
    private var lastTask: Int64 = 0
    private(set) var lastMessage: Int64 = 0

    func list() -> [Listed] { tasks.map { Listed(id: $0.key, number: $0.value) }.sorted { $0.id < $1.id } }

    /// Returns the first messages of a stream that is opened now.
    func stream() -> [Sent] { messages.map { .message($0) } + [.caughtUp(lastMessage)] }

    func hasNumber(_ number: Int) -> Bool { tasks.values.contains(number) || messages.contains { $0.number == number } }

    /// Returns whether the end of a task has not been delivered yet.
    func owesEnd(of number: Int, _ noted: Set<Int64>) -> Bool {
        tasks.values.contains(number)
            || messages.contains { $0.number == number && !$0.isQuestion && !noted.contains($0.id) }
    }

    /// Returns whether the service has the task, or a message about its end.
    func knows(_ id: TaskID) -> Bool { tasks[id] != nil || messages.contains { $0.task == id && !$0.isQuestion } }

    /// Accepts a task, once.
    mutating func take(_ number: Int) -> TaskID {
        if let known = tasks.first(where: { $0.value == number })?.key { return known }
        if let ended = messages.first(where: { $0.number == number }) { return ended.task }
        lastTask += 1
        tasks[TaskID(lastTask)] = number
        nextNumber = max(nextNumber, Int64(number) + 1)
        return TaskID(lastTask)
    }

    /// Ends a task.
    ///
    /// - Returns: False if the service has no such task.
    @discardableResult
    mutating func end(_ id: TaskID) -> Bool {
        guard let number = tasks.removeValue(forKey: id) else { return false }
        messages.removeAll { $0.task == id }
        add(id, number, isQuestion: false)
        return true
    }

    mutating func ask(_ id: TaskID) {
        guard let number = tasks[id], !messages.contains(where: { $0.task == id }) else { return }
        add(id, number, isQuestion: true)
    }

    private mutating func add(_ id: TaskID, _ number: Int, isQuestion: Bool) {
        lastMessage += 1
        messages.append(Message(id: lastMessage, task: id, number: number, isQuestion: isQuestion))
    }

    /// Removes a task without a message, as if a user had removed it.
    mutating func forget(_ id: TaskID) {
        tasks[id] = nil
        messages.removeAll { $0.task == id }
    }

    mutating func acknowledged(_ ids: [Int64]) { messages.removeAll { ids.contains($0.id) && !$0.isQuestion } }

    mutating func answered(_ message: Int64) { messages.removeAll { $0.id == message } }
}
