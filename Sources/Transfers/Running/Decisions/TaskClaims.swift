package import NightshiftAPI
package import Store

/// Tasks of which nothing runs, and which nobody may start all the same. Pure.
package struct TaskClaims: Sendable {
    /// Admitted, their records being read.
    package private(set) var starting: Set<TaskID> = []
    /// Those that requests of clients are changing: by how many.
    private var held: [TaskID: Int] = [:]
    /// Sessions of which every task is being ended: by how many requests.
    private var heldSessions: [SessionID: Int] = [:]
    /// Connections for tasks that are about to start.
    package var reserved: [LaneID: Int] = [:]
    /// Who waits for nothing to run for a task.
    private var waiters: [TaskID: [CheckedContinuation<Void, Never>]] = [:]

    package init() {}

    /// How many there are.
    package var count: Int { starting.count + held.count }

    package func contains(_ task: TaskID) -> Bool { starting.contains(task) || held[task] != nil }

    package func isStarting(_ task: TaskID) -> Bool { starting.contains(task) }

    package func isHeld(_ task: TaskID) -> Bool { held[task] != nil }

    /// Whether the task, or its session, is held.
    package func isHeld(_ record: TaskRecord) -> Bool {
        held[record.id] != nil || heldSessions[record.session] != nil
    }

    /// The sessions of which no task starts.
    package var sessions: Set<SessionID> { Set(heldSessions.keys) }

    package mutating func beginStarting(_ tasks: [TaskID]) { starting.formUnion(tasks) }

    package mutating func endStarting(_ tasks: [TaskID]) { starting.subtract(tasks) }

    /// A request of a client is about to change the task: it is not started before as many ``letGo(_:)``.
    package mutating func hold(_ task: TaskID) { held[task, default: 0] += 1 }

    package mutating func letGo(_ task: TaskID) {
        guard let count = held[task] else { return }
        held[task] = count > 1 ? count - 1 : nil
    }

    /// All tasks of the session are about to end: none of them starts before as many ``letGo(_:)``, those that come meanwhile
    /// included.
    package mutating func hold(_ session: SessionID) { heldSessions[session, default: 0] += 1 }

    package mutating func letGo(_ session: SessionID) {
        guard let count = heldSessions[session] else { return }
        heldSessions[session] = count > 1 ? count - 1 : nil
    }

    /// Resumed by the next ``wakeWaiters(for:)``, after which it looks again.
    package mutating func add(_ waiter: CheckedContinuation<Void, Never>, for task: TaskID) {
        waiters[task, default: []].append(waiter)
    }

    /// What ran for a task, or was about to, does not any more.
    package mutating func wakeWaiters(for task: TaskID) {
        for waiter in waiters.removeValue(forKey: task) ?? [] { waiter.resume() }
    }
}
