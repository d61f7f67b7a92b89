/// `POST /v1/retry`: up to ``Limits/tasksPerRequest`` tasks, or all that wait after a failure where none are named.
package struct RetryRequest: Sendable, Codable {
    package var tasks: [TaskID]?

    package init(tasks: [TaskID]? = nil) {
        self.tasks = tasks
    }
}

/// The result.
package struct RetryResponse: Hashable, Sendable, Codable {
    /// Tasks whose wait after a failure was ended.
    package var count: Int
    /// Those that cannot be tried again, of the ones that were named.
    package var refused: [RefusedTask]

    package init(count: Int, refused: [RefusedTask] = []) {
        self.count = count
        self.refused = refused
    }
}

/// A task for which something could not be done, and why.
package struct RefusedTask: Hashable, Sendable, Codable {
    package var id: TaskID
    package var problem: Problem

    package init(id: TaskID, problem: Problem) {
        self.id = id
        self.problem = problem
    }
}
