import NightshiftAPI

/// The background tasks of this process: the requested and open tasks, and the reports that the service has not
/// received yet.
///
/// A requested task is either opened or refused. An open task stays open until it is ended. The expiration handler of a
/// task is called at most once, and never before the app has received the task's number.
struct BackgroundTaskLedger {
    typealias Handler = @MainActor @Sendable () -> Void

    private var tasks: [Int64: Entry] = [:]
    private var lastNumber: Int64 = 0
    /// The tasks whose beginning or end has not been reported to the service yet, in the order of reporting. The
    /// beginning is reported while the task is open.
    private var untold: [Int64] = []

    private struct Entry {
        var name: String
        var handler: Handler?
        /// Whether the app has received the task's number.
        var isOpen = false
        /// Whether the background time expired before the task was open.
        var isLate = false
    }

    /// Adds a task that is being requested, and returns its number.
    mutating func add(_ name: String, _ handler: Handler?) -> Int64 {
        lastNumber += 1
        tasks[lastNumber] = Entry(name: name, handler: handler)
        return lastNumber
    }

    /// Marks a task as open when the app receives the task's number.
    ///
    /// - Returns: Whether the task's handler has to be called, because the background time expired before the task was
    ///   open.
    mutating func open(_ number: Int64) -> Bool {
        tasks[number]?.isOpen = true
        return tasks[number]?.isLate == true && tasks[number]?.handler != nil
    }

    /// Removes a requested task that was refused.
    ///
    /// - Parameter mayBeKnown: Whether the service may have begun the task, although no answer arrived.
    /// - Returns: The task's handler. The caller must release the handler outside of any lock, because releasing the
    ///   objects that the handler captures may call back into this code.
    mutating func refuse(_ number: Int64, mayBeKnown: Bool) -> Handler? {
        if mayBeKnown { untold.append(number) }
        return tasks.removeValue(forKey: number)?.handler
    }

    /// Ends an open task.
    ///
    /// - Returns: Whether the task was open, and its handler. The caller must release the handler outside of any lock,
    ///   as with ``refuse(_:mayBeKnown:)``.
    mutating func end(_ number: Int64) -> (isNews: Bool, handler: Handler?) {
        guard tasks[number]?.isOpen == true else { return (false, nil) }
        let handler = tasks.removeValue(forKey: number)?.handler
        tellLater(number)
        return (true, handler)
    }

    /// The requests for all open tasks, oldest first, for a service that does not know them.
    var requests: [BackgroundTaskRequest] {
        tasks.filter(\.value.isOpen).sorted { $0.key < $1.key }.map {
            BackgroundTaskRequest(number: $0.key, name: $0.value.name)
        }
    }

    func isOpen(_ number: Int64) -> Bool { tasks[number]?.isOpen == true }

    // MARK: - Expiration

    /// Records that the time of all tasks has expired.
    ///
    /// - Returns: The tasks whose handlers have to be called, oldest first.
    mutating func expire() -> [Int64] {
        for number in tasks.keys where tasks[number]?.isOpen == false { tasks[number]?.isLate = true }
        return tasks.filter { $0.value.isOpen && $0.value.handler != nil }.keys.sorted()
    }

    /// Returns the handler of an open task, and removes it so that it is called only once.
    mutating func takeHandler(_ number: Int64) -> Handler? {
        guard tasks[number]?.isOpen == true else { return nil }
        defer { tasks[number]?.handler = nil }
        return tasks[number]?.handler
    }

    // MARK: - Reports to the service

    enum News: Equatable {
        case beginning(BackgroundTaskRequest)
        case end(Int64)

        var number: Int64 {
            switch self {
            case .beginning(let request): request.number
            case .end(let number): number
            }
        }
    }

    /// The next report to the service.
    var news: News? {
        untold.first.map { number in
            tasks[number].map { .beginning(BackgroundTaskRequest(number: number, name: $0.name)) } ?? .end(number)
        }
    }

    /// Adds a report about a task after all other pending reports.
    mutating func tellLater(_ number: Int64) {
        untold.removeAll { $0 == number }
        untold.append(number)
    }

    /// Removes a report that the service has received. If the task ended while its beginning was being reported, the
    /// report of the task's end remains.
    mutating func told(_ news: News) {
        if case .beginning = news, tasks[news.number] == nil { return }
        untold.removeAll { $0 == news.number }
    }
}
