/// An action that can be performed on many transfers at once.
package enum TaskAction: String, Sendable, Codable, CaseIterable {
    case suspend
    case resume
    case cancel
    /// The removal of transfers that have ended.
    case remove
    /// A change of transfers that have not ended.
    case change
}

/// The body of `POST /v1/actions`: one action for many transfers. A refusal for one transfer does not affect the
/// others.
package struct TaskActionRequest: Sendable, Codable {
    package var action: TaskAction
    /// The ids of the transfers: at most ``Limits/tasksPerAction``, each listed once.
    package var tasks: [TaskID]
    /// Whether ``TaskAction/cancel`` keeps the downloaded bytes and returns tokens to resume from, if the servers
    /// support resuming.
    package var producingResumeData: Bool?
    /// The change. It is required for ``TaskAction/change``.
    package var change: TaskChange?

    package init(
        _ action: TaskAction, _ tasks: [TaskID], producingResumeData: Bool? = nil, change: TaskChange? = nil
    ) {
        self.action = action
        self.tasks = tasks
        self.producingResumeData = producingResumeData
        self.change = change
    }
}

/// The response of `POST /v1/actions`: one result for each transfer, in the order of the request.
package struct TaskActionAnswer: Sendable, Codable {
    package var results: [TaskActionResult]

    package init(results: [TaskActionResult]) {
        self.results = results
    }
}

/// The result for one transfer: its new status, a refusal, or neither if it was removed.
package struct TaskActionResult: Hashable, Sendable, Codable {
    package var id: TaskID
    package var task: TaskStatus?
    package var problem: Problem?

    package init(id: TaskID, task: TaskStatus? = nil, problem: Problem? = nil) {
        self.id = id
        self.task = task
        self.problem = problem
    }
}
