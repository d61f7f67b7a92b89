package import NightshiftAPI
import Synchronization

/// Tasks whose rows make no sense, as they were found. Thread-safe.
package final class UnreadableTasks: Sendable {
    private struct State {
        var known: Set<TaskID> = []
        var fresh: [UnreadableTask] = []
    }

    private let state = Mutex(State())

    func add(_ task: UnreadableTask) {
        state.withLock { state in
            if state.known.insert(task.id).inserted { state.fresh.append(task) }
        }
    }

    /// Has them found again: nothing could be done about them.
    package func putBack(_ tasks: [UnreadableTask]) {
        state.withLock { $0.fresh += tasks }
    }

    /// Those that were found since the last call.
    package func takeFresh() -> [UnreadableTask] {
        state.withLock { state in
            defer { state.fresh = [] }
            return state.fresh
        }
    }
}

/// The rows that could be read of some tasks, in the order of their ids.
package struct TaskRows: Sendable {
    package var records: [TaskRecord] = []
    package var unreadable: [UnreadableTask] = []
    /// The last one, whether it could be read or not.
    package var last: TaskID?

    package var count: Int { records.count + unreadable.count }
}
