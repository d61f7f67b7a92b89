/// The body of `POST /v1/retry`, with up to ``Limits/tasksPerRequest`` transfers. If it names no transfers, all
/// transfers that wait after a failure are retried. Failed downloads start again only if they are named.
package struct RetryRequest: Sendable, Codable {
    package var tasks: [TaskID]?

    package init(tasks: [TaskID]? = nil) {
        self.tasks = tasks
    }
}

/// The response of `POST /v1/retry`.
package struct RetryResponse: Hashable, Sendable, Codable {
    /// The number of transfers whose wait after a failure this request ended, and of failed transfers that start
    /// again.
    package var count: Int
    /// The named transfers that cannot be retried.
    package var refused: [RefusedTask]

    package init(count: Int, refused: [RefusedTask] = []) {
        self.count = count
        self.refused = refused
    }
}

/// A transfer for which an action was refused, with the reason.
package struct RefusedTask: Hashable, Sendable, Codable {
    package var id: TaskID
    package var problem: Problem

    package init(id: TaskID, problem: Problem) {
        self.id = id
        self.problem = problem
    }
}
