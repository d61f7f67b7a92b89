package import NightshiftAPI
package import Store

/// The tasks that must not be started now although no run exists for them. This is a pure value.
package struct TaskClaims: Sendable {
    /// Admitted tasks whose records are being read.
    package private(set) var starting: Set<TaskID> = []
    /// The tasks that clients are changing, each with the number of its change requests.
    private var held: [TaskID: Int] = [:]
    /// The sessions whose tasks are all being ended, each with the number of requests to end its tasks.
    private var heldSessions: [SessionID: Int] = [:]
    /// The number of connections in each per-origin queue that are reserved for tasks about to start.
    package var reserved: [LaneID: Int] = [:]
    /// The callers waiting until a task is idle.
    private var waiters: [TaskID: [CheckedContinuation<Void, Never>]] = [:]

    package init() {}

    /// The number of tasks that are starting or being changed.
    package var count: Int { starting.count + held.count }

    package func contains(_ task: TaskID) -> Bool { starting.contains(task) || held[task] != nil }

    package func isStarting(_ task: TaskID) -> Bool { starting.contains(task) }

    package func isHeld(_ task: TaskID) -> Bool { held[task] != nil }

    /// Returns whether the task or its session is blocked.
    package func isHeld(_ record: TaskRecord) -> Bool {
        held[record.id] != nil || heldSessions[record.session] != nil
    }

    /// The sessions whose tasks cannot start.
    package var sessions: Set<SessionID> { Set(heldSessions.keys) }

    package mutating func beginStarting(_ tasks: [TaskID]) { starting.formUnion(tasks) }

    package mutating func endStarting(_ tasks: [TaskID]) { starting.subtract(tasks) }

    /// Blocks the start of a task that a client is about to change. Each call needs a matching ``letGo(_:)``.
    package mutating func hold(_ task: TaskID) { held[task, default: 0] += 1 }

    package mutating func letGo(_ task: TaskID) {
        guard let count = held[task] else { return }
        held[task] = count > 1 ? count - 1 : nil
    }

    /// Blocks the start of all tasks of a session that are about to end, including tasks that are added later. Each
    /// call needs a matching ``letGo(_:)``.
    package mutating func hold(_ session: SessionID) { heldSessions[session, default: 0] += 1 }

    package mutating func letGo(_ session: SessionID) {
        guard let count = heldSessions[session] else { return }
        heldSessions[session] = count > 1 ? count - 1 : nil
    }

    /// Adds a caller that waits for a task. The next ``wakeWaiters(for:)`` resumes the caller, which then checks the
    /// task again.
    package mutating func add(_ waiter: CheckedContinuation<Void, Never>, for task: TaskID) {
        waiters[task, default: []].append(waiter)
    }

    /// Resumes the callers that wait for a task, because the task's work or start has ended.
    package mutating func wakeWaiters(for task: TaskID) {
        for waiter in waiters.removeValue(forKey: task) ?? [] { waiter.resume() }
    }
}
