import NightshiftAPI

/// The background tasks of this process: those that are open, and what the service is still to hear of them.
///
/// A task is asked for, then open or refused; an open one ends. It has its expiration handler called at most once, and never
/// before the app has been given its number.
struct BackgroundTaskLedger {
    typealias Handler = @MainActor @Sendable () -> Void

    private var tasks: [Int64: Entry] = [:]
    private var lastNumber: Int64 = 0
    /// Tasks of whose beginning, where they are open, or end the service is still to hear, in this order.
    private var untold: [Int64] = []

    private struct Entry {
        var name: String
        var handler: Handler?
        /// Whether the app has its number.
        var isOpen = false
        /// Whether time ran out before that.
        var isLate = false
    }

    /// Adds a task that is being requested, and returns its number.
    mutating func add(_ name: String, _ handler: Handler?) -> Int64 {
        lastNumber += 1
        tasks[lastNumber] = Entry(name: name, handler: handler)
        return lastNumber
    }

    /// The app has the task.
    ///
    /// - Returns: whether its handler has to be called, because time ran out meanwhile.
    mutating func open(_ number: Int64) -> Bool {
        tasks[number]?.isOpen = true
        return tasks[number]?.isLate == true && tasks[number]?.handler != nil
    }

    /// The app does not get the task.
    ///
    /// - Parameter mayBeKnown: whether the service may have it although it has not said so.
    /// - Returns: its handler, for the caller to let go of outside of any lock: what only the handler holds may come back here.
    mutating func refuse(_ number: Int64, mayBeKnown: Bool) -> Handler? {
        if mayBeKnown { untold.append(number) }
        return tasks.removeValue(forKey: number)?.handler
    }

    /// The app has ended a task.
    ///
    /// - Returns: whether there was one; and its handler, as ``refuse(_:mayBeKnown:)`` does.
    mutating func end(_ number: Int64) -> (isNews: Bool, handler: Handler?) {
        guard tasks[number]?.isOpen == true else { return (false, nil) }
        let handler = tasks.removeValue(forKey: number)?.handler
        tellLater(number)
        return (true, handler)
    }

    /// The requests for a service that knows of no task, oldest first.
    var requests: [BackgroundTaskRequest] {
        tasks.filter(\.value.isOpen).sorted { $0.key < $1.key }.map {
            BackgroundTaskRequest(number: $0.key, name: $0.value.name)
        }
    }

    func isOpen(_ number: Int64) -> Bool { tasks[number]?.isOpen == true }

    // MARK: - Time running out

    /// Time runs out for every task.
    ///
    /// - Returns: those whose handlers have to be called, oldest first.
    mutating func expire() -> [Int64] {
        for number in tasks.keys where tasks[number]?.isOpen == false { tasks[number]?.isLate = true }
        return tasks.filter { $0.value.isOpen && $0.value.handler != nil }.keys.sorted()
    }

    /// The handler of an open task, once.
    mutating func takeHandler(_ number: Int64) -> Handler? {
        guard tasks[number]?.isOpen == true else { return nil }
        defer { tasks[number]?.handler = nil }
        return tasks[number]?.handler
    }

    // MARK: - What the service is to hear

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

    /// What the service hears next.
    var news: News? {
        untold.first.map { number in
            tasks[number].map { .beginning(BackgroundTaskRequest(number: number, name: $0.name)) } ?? .end(number)
        }
    }

    /// The service has to hear of a task, behind what else it has to.
    mutating func tellLater(_ number: Int64) {
        untold.removeAll { $0 == number }
        untold.append(number)
    }

    /// The service has heard it. What has come since stays: the end of a task whose beginning was being told.
    mutating func told(_ news: News) {
        if case .beginning = news, tasks[news.number] == nil { return }
        untold.removeAll { $0 == news.number }
    }
}
