package import NightshiftAPI
import Synchronization

/// A collection of tasks that were found to have unreadable rows. The class is thread-safe.
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

    /// Returns tasks to the collection because they could not be handled.
    package func putBack(_ tasks: [UnreadableTask]) {
        state.withLock { $0.fresh += tasks }
    }

    /// Returns the tasks found since the last call, and clears the list.
    package func takeFresh() -> [UnreadableTask] {
        state.withLock { state in
            defer { state.fresh = [] }
            return state.fresh
        }
    }
}

/// The readable rows of some tasks, in the order of their ids.
package struct TaskRows: Sendable {
    package var records: [TaskRecord] = []
    package var unreadable: [UnreadableTask] = []
    /// The id of the last row, readable or not.
    package var last: TaskID?

    package var count: Int { records.count + unreadable.count }
}
